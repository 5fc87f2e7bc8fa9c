// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compel {

/// Fields of /proc/PID/status that this library needs. Functions return nothing for a thread that doesn't exist.
struct ThreadStatus {
    char state = '?';
    pid_t process = 0;
    pid_t tracer = 0;
    /// Number of threads of the process, zombies included.
    std::size_t threads = 0;
    /// True if the thread has seccomp filters or is in strict mode.
    bool seccomp = false;
    /// Bytes that the process has mapped: in all, private and writable, and locked.
    std::uint64_t mapped = 0;
    std::uint64_t data = 0;
    std::uint64_t locked = 0;
    /// Sets of signals, bit n-1 for signal n: pending for it or its process, pending for its process,
    /// ignored explicitly, and caught.
    std::uint64_t pending = 0;
    std::uint64_t pendingForProcess = 0;
    std::uint64_t ignored = 0;
    std::uint64_t caught = 0;
};
std::optional<ThreadStatus> readThreadStatus(pid_t tid);

/// True for a kernel worker thread of a process (PF_USER_WORKER): io_uring or vhost.
bool isKernelWorker(pid_t tid);

/// True if a thread is ending (PF_EXITING), has ended or doesn't exist. It executes no more code of the process.
bool isEnding(pid_t tid);

/// True if an ending thread has released its memory, files and namespaces. It at most waits for other threads.
bool hasNothingLeft(pid_t tid);

/// Lists the threads. Throws Error if the process doesn't exist.
std::vector<pid_t> listThreads(pid_t pid);

struct MemoryRange {
    std::uint64_t start;
    std::uint64_t end;
    bool readable;
    bool writable;
    bool executable;
    std::string_view name;
};
/// Calls `visit` for each mapping in the order of addresses until it returns false.
void visitMappings(pid_t pid, const std::function<bool(const MemoryRange&)>& visit);

/// Returns the whole content of a file of /proc; nothing if it can't be read.
std::optional<std::string> readWholeFile(const std::string& path);

}  // namespace compel
