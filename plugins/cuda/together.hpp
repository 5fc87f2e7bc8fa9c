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

/// Calls of the driver with a timeout. The driver's calls wait for a thread in the process without a limit, so criu
/// makes each in a separate thread. A thread whose call doesn't return remains until criu ends.
namespace criu::cuda {

/// A frozen process and the driver's thread in it.
struct Target {
    compel::FrozenProcess* process = nullptr;
    pid_t thread = 0;
    compel::SystemCallWatch* watch = nullptr;  ///< observes the system calls of `thread`; may be null
    /// Bytes to move besides the process' memory; may be null.
    const std::atomic<std::uint64_t>* moved = nullptr;
};

/// Timeout for calls that don't move contents.
inline constexpr std::chrono::seconds kAnswer{10};
/// Timeout for calls that revert a step.
inline constexpr std::chrono::seconds kUndone{5};

/// Timeout for the driver.
struct Patience {
    /// Base timeout; the time for contents is added by their size.
    std::chrono::seconds answer{};
    /// Request that ends the wait early. Null for calls that revert a step, which must continue.
    StopRequest* stop = nullptr;
};

/// Calls `work` with the pid of each process, for all at once, while only the driver's thread in each runs. Returns the
/// exception of each call, or null, in the same order. If a driver's thread ends, that is the failure.
///
/// The driver can't abort a call, and a process with half of its contents copied can neither continue nor revert. So a
/// call that ends within its usual time after a stop request hasn't failed. The caller checks the stop request
/// afterwards and reverts whole steps. A call that doesn't end is left in its thread, with an Error.
///
/// Calls `over`, in the calling thread, for each process that has succeeded and is frozen again, while other calls may
/// run. An exception of `over` is that process' failure.
std::vector<std::exception_ptr> callInParallel(const std::vector<Target>& targets,
                                               const std::function<void(pid_t)>& work, const Patience& patience,
                                               const std::function<void(HostPid)>& over = nullptr);

/// Returns the maximum time for a call that moves all contents of a process, at the slowest known rate. It is `answer`
/// and a second for each 128 MiB of the process and of `moved`.
std::chrono::milliseconds timeForContents(HostPid pid, std::chrono::seconds answer, std::uint64_t moved = 0);

/// Throws the first failure that isn't null.
void throwFirst(const std::vector<std::exception_ptr>& failures);

/// Calls `work`, which concerns a running process. Throws its exception, or Error after `limit` or a stop request.
/// `what` is for the message: "ask process 7 for its state". `stop` is null for calls that revert a step, which must
/// continue.
void callWithTimeout(const std::function<void()>& work, std::chrono::milliseconds limit, StopRequest* stop,
                     std::string_view what);

}  // namespace criu::cuda
