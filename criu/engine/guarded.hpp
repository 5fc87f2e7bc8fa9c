// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/engine.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/stages.hpp"

namespace criu::engine {

/// Root of the tree that the guarded work is about. Guardian and working process both use it.
struct GuardedRoot {
    /// Throws Error if there is no such process.
    explicit GuardedRoot(HostPid root);

    kernel::PidFd process;
    kernel::NamespaceIds ids;   ///< namespaces of the root
    kernel::NamespaceIds home;  ///< namespaces of criu
};

/// The guardian, as the working process sees it. The guardian notifies listeners of stages, with the descriptors and
/// state that they were given there.
class Guardian {
public:
    /// `guardian` is the guardian process. `listeners` are notified here only of NetworkUnlock, and only if the
    /// guardian is dead. `drivers` are always notified here, because device subsystems work in this process.
    Guardian(const GuardedRoot& root, UniqueFd channel, const kernel::PidFd& guardian, model::StageListeners& listeners,
             model::StageListeners& drivers) noexcept
        : root_(root), channel_(std::move(channel)), guardian_(guardian), listeners_(listeners), drivers_(drivers) {}

    [[nodiscard]] const GuardedRoot& root() const noexcept { return root_; }
    /// Like StageListeners::notify() and StageListeners::require().
    int notify(model::Stage stage);
    void require(model::Stage stage);
    /// Like StageListeners::nameExternals(). Sends no message if no listener names externals.
    std::vector<std::string> nameExternals();

    /// Sends the cause of a failure to the guardian. Does nothing if the guardian is dead.
    void report(const Log::Cause& cause) noexcept;

    /// Announces that this process ends without reverting all of its changes. The guardian then acts as for a killed
    /// working process.
    void abandon() noexcept;
    /// Makes letEndFirst() let the guardian end before this process. Needed if a process that the guardian depends on
    /// ends with this one.
    void outlive() noexcept { outlives_ = true; }
    /// Waits until the guardian has ended, for at most half a minute. Called after work that succeeded. Returns at once
    /// unless outlive() was called.
    void letEndFirst() noexcept;

private:
    int ask(model::Stage stage);
    [[nodiscard]] std::size_t receive(void* into, std::size_t size);

    const GuardedRoot& root_;
    UniqueFd channel_;
    const kernel::PidFd& guardian_;
    model::StageListeners& listeners_;
    model::StageListeners& drivers_;
    bool outlives_ = false;
};

/// Runs `work` in a child, the working process; the calling process is the guardian. If the guardian is killed, even by
/// SIGKILL, the child stops and reverts its changes. A killed tracer couldn't do that: its tasks would continue in
/// injected code.
///
/// Passes stop requests on. Returns the exit status of the child, which is the result of `work`. `work` must not throw.
///
/// Both processes stay in the namespaces that criu was started in, where processes in namespaces of the tree don't see
/// them. The guardian notifies run.listeners, the child notifies run.drivers. run.log gets what the child couldn't log
/// itself.
int runGuarded(Run& run, const GuardedRoot& root, const std::function<int(Guardian&)>& work);

}  // namespace criu::engine
