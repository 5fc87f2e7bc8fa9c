// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>
#include <compel/single_thread_run.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/stop_request.hpp"

/// Functions that make calls of the driver with a timeout. A driver call waits without limit for the driver's thread in
/// the process, so criu makes each call in a separate thread. If a call doesn't return, its thread remains until criu
/// ends.
namespace criu::cuda {

/// Frozen process for a driver call, and the tid of the driver's thread in this process.
struct Target {
    compel::FrozenProcess* process = nullptr;
    pid_t thread = 0;
    compel::SystemCallWatch* watch = nullptr;  ///< object that observes the system calls of `thread`; may be null
    /// Number of bytes that the call moves in addition to the process' memory; may be null.
    const std::atomic<std::uint64_t>* moved = nullptr;
};

/// Timeout for calls that don't move contents.
inline constexpr std::chrono::seconds kAnswer{10};
/// Shortest timeout for calls that undo a part of a dump.
inline constexpr std::chrono::seconds kUndone{5};

/// Timeout and stop request for driver calls.
struct Patience {
    /// Timeout of a call that moves no contents. criu adds time in proportion to the size of the contents.
    std::chrono::seconds answer{};
    /// Stop request that ends the wait early. Null for calls that undo a part of a dump, because they must finish.
    StopRequest* stop = nullptr;
};

/// Calls `work` with the pid of each process, for all processes in parallel. During a call, only the driver's thread of
/// the process runs. Returns the exception of each call, or null, in the order of `targets`. The end of a driver's
/// thread is a failure.
///
/// The driver can't abort a call. A process with only a part of its contents copied can neither continue nor revert. So
/// after a stop request, the function still waits as long as each call usually takes. The caller then checks the stop
/// request and undoes complete calls. A call that doesn't end in time fails with an Error, and its thread continues.
///
/// `over`: called in the calling thread for each process whose call has succeeded and that is frozen again. Calls for
/// other processes may still run. If `over` throws, the call for this process counts as failed.
std::vector<std::exception_ptr> callInParallel(const std::vector<Target>& targets,
                                               const std::function<void(pid_t)>& work, const Patience& patience,
                                               const std::function<void(HostPid)>& over = nullptr);

/// Returns the maximum time for a call that moves all contents of a process. It is `answer`, plus one second for each
/// 128 MiB of the process' memory and of `moved`.
std::chrono::milliseconds timeForContents(HostPid pid, std::chrono::seconds answer, std::uint64_t moved = 0);

/// Throws the first exception in the list that isn't null.
void throwFirst(const std::vector<std::exception_ptr>& failures);

/// Calls `work`, a driver call for a running process, in a separate thread. Throws the exception of `work`, or Error
/// after `limit` or a stop request. `what`: text for the message, such as "ask process 7 for its state". `stop`: null
/// for calls that undo a part of a dump, because they must finish.
void callWithTimeout(const std::function<void()>& work, std::chrono::milliseconds limit, StopRequest* stop,
                     std::string_view what);

}  // namespace criu::cuda
