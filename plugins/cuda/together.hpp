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

/// Calls of the driver are carried out by a thread in the process they are about, and wait for it without a limit. So
/// each is made in a thread of its own, which is left behind if the call doesn't come back: it ends with criu.
namespace criu::cuda {

/// A frozen process and the thread in it that works for the driver.
struct Target {
    compel::FrozenProcess* process = nullptr;
    pid_t thread = 0;
    compel::SystemCallWatch* watch = nullptr;  ///< sees that thread's system calls; may be null
    /// Bytes that are moved besides those in memory of the process; may be null.
    const std::atomic<std::uint64_t>* moved = nullptr;
};

/// How long the driver may take for what it does at once.
inline constexpr std::chrono::seconds kAnswer{10};
/// The same for what undoes something.
inline constexpr std::chrono::seconds kUndone{5};

/// How long the driver is waited for.
struct Patience {
    /// For an answer; what contents need is added by their size.
    std::chrono::seconds answer{};
    /// A request ends the wait early: null for what undoes something, which goes on then.
    StopRequest* stop = nullptr;
};

/// Calls `work` with the pid of each of these processes, for all at the same time, while the driver's thread in each
/// runs and all else stands still. Returns what each threw, or null, in the same order. If a driver's thread ends, that
/// is the failure.
///
/// The driver can't be asked to break off a call, and a process whose contents are half copied can neither go on nor
/// back. So a stop that is requested meanwhile is no failure of a call that comes to its end in about the time that it
/// needs anyway: the caller asks for the stop afterwards, and undoes whole steps. A call that doesn't come to its end
/// is left behind, with an Error.
///
/// `over` is told, in the calling thread, of each process whose call has ended well and that stands still again, while
/// others may be under way; what it throws is the failure of that one.
std::vector<std::exception_ptr> callInParallel(const std::vector<Target>& targets,
                                               const std::function<void(pid_t)>& work, const Patience& patience,
                                               const std::function<void(HostPid)>& over = nullptr);

/// How long a call about this process may take that moves all contents, at the slowest rate that was ever reported:
/// `answer`, and a second for each 128 MiB that the process has, or that are `moved` besides.
std::chrono::milliseconds timeForContents(HostPid pid, std::chrono::seconds answer, std::uint64_t moved = 0);

/// Throws the first of these failures that isn't null.
void throwFirst(const std::vector<std::exception_ptr>& failures);

/// Calls `work`, which is about a process that runs. Throws what it throws, and Error if it doesn't come back within
/// `limit` (`what`, for the message: "ask process 7 for its state") or a stop is requested. `stop`: null for what
/// undoes something, which goes on then.
void callWithTimeout(const std::function<void()>& work, std::chrono::milliseconds limit, StopRequest* stop,
                     std::string_view what);

}  // namespace criu::cuda
