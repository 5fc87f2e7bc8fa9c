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

/// The little that this library needs of /proc; nothing is returned for a thread that is gone.
struct ThreadStatus {
    char state = '?';
    pid_t process = 0;
    pid_t tracer = 0;
    /// Of its process, zombies included.
    std::size_t threads = 0;
    /// It has seccomp filters, or is in strict mode.
    bool seccomp = false;
    /// Bytes that its process has mapped in all, privately and writable, and locked.
    std::uint64_t mapped = 0;
    std::uint64_t data = 0;
    std::uint64_t locked = 0;
    /// Sets of signals, bit n-1 for signal n: pending for it or its process, ignored explicitly, and caught.
    std::uint64_t pending = 0;
    std::uint64_t ignored = 0;
    std::uint64_t caught = 0;
};
std::optional<ThreadStatus> readThreadStatus(pid_t tid);

/// Whether a thread is one in which the kernel works for its process (PF_USER_WORKER): of io_uring, or vhost.
bool isKernelWorker(pid_t tid);

/// Whether a thread is on its way out (PF_EXITING), has ended or is gone: it executes nothing of its own any more.
bool isEnding(pid_t tid);

/// Whether a thread that ends has nothing left to give up: its memory, files and namespaces are gone, and it waits for
/// others at most.
bool hasNothingLeft(pid_t tid);

/// Throws Error if the process is gone.
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

/// Whole content of a file of /proc; nothing if it can't be read.
std::optional<std::string> readWholeFile(const std::string& path);

}  // namespace compel
