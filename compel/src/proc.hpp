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

/// Values of /proc/PID/status that this library needs.
struct ThreadStatus {
    char state = '?';
    pid_t process = 0;
    pid_t tracer = 0;
    /// Number of threads of the process, including zombie threads.
    std::size_t threads = 0;
    /// True if the thread has seccomp filters or is in strict mode.
    bool seccomp = false;
    /// Bytes of memory that the process has mapped. `data` counts private writable memory, `locked` locked memory.
    std::uint64_t mapped = 0;
    std::uint64_t data = 0;
    std::uint64_t locked = 0;
    /// Signals that are pending for the thread or its process; bit n-1 is signal n. The members below are the sets of
    /// signals that are pending for the thread, that are pending for the process, that the thread blocks at the moment,
    /// that the process ignores, and that it handles.
    std::uint64_t pending = 0;
    std::uint64_t pendingForThread = 0;
    std::uint64_t pendingForProcess = 0;
    std::uint64_t blocked = 0;
    std::uint64_t ignored = 0;
    std::uint64_t caught = 0;
};
/// Reads the values of a thread. Returns nullopt if the thread doesn't exist. Throws Error.
std::optional<ThreadStatus> readThreadStatus(pid_t tid);

/// Returns the number of threads of a process, including zombie threads and kernel worker threads. Returns nullopt if
/// the process doesn't exist. Reads no file, because the kernel needs several times as long to write /proc/PID/status.
/// Throws Error.
std::optional<std::size_t> countThreads(pid_t pid);

/// Returns true for a kernel worker thread of a process (PF_USER_WORKER), which io_uring or vhost has created. Throws
/// Error.
bool isKernelWorker(pid_t tid);

/// Returns true if a thread is ending (PF_EXITING), has ended or doesn't exist. Such a thread executes no code of the
/// process any more.
bool isEnding(pid_t tid);

/// Returns true if an ending thread has released its memory, files and namespaces. Such a thread at most waits for
/// other threads.
bool hasNothingLeft(pid_t tid);

/// Returns the tids of a process' threads. Throws Error if the process doesn't exist.
std::vector<pid_t> listThreads(pid_t pid);

struct MemoryRange {
    std::uint64_t start;
    std::uint64_t end;
    bool readable;
    bool writable;
    bool executable;
    std::string_view name;
};
/// Calls `visit` for each mapping in the order of addresses, until `visit` returns false.
void visitMappings(pid_t pid, const std::function<bool(const MemoryRange&)>& visit);

/// Returns the content of a file in /proc; nullopt if criu can't read the file, with the reason in errno.
std::optional<std::string> readWholeFile(const std::string& path);

}  // namespace compel
