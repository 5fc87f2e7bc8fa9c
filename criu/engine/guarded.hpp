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

/// Root of the dumped tree, for the guardian and for the working process.
struct GuardedRoot {
    /// Throws Error if there is no such process.
    explicit GuardedRoot(HostPid root);

    kernel::PidFd process;
    kernel::NamespaceIds ids;   ///< namespaces of the root
    kernel::NamespaceIds home;  ///< namespaces of criu
};

/// Connection of the working process to its guardian. The guardian notifies listeners of stages on request.
class Guardian {
public:
    /// `guardian`: pidfd of the guardian. `listeners`: listeners of the guardian. If the guardian is dead, the working
    /// process notifies them of NetworkUnlock itself. `drivers`: device subsystems, which the working process always
    /// notifies itself.
    Guardian(const GuardedRoot& root, UniqueFd channel, const kernel::PidFd& guardian, model::StageListeners& listeners,
             model::StageListeners& drivers) noexcept
        : root_(root), channel_(std::move(channel)), guardian_(guardian), listeners_(listeners), drivers_(drivers) {}

    [[nodiscard]] const GuardedRoot& root() const noexcept { return root_; }
    /// Notifies all listeners of a stage, like StageListeners::notify(). require() corresponds to
    /// StageListeners::require().
    int notify(model::Stage stage);
    void require(model::Stage stage);
    /// Returns the external resources that listeners name (StageListeners::nameExternals()).
    std::vector<std::string> nameExternals();

    /// Sends the cause of a failure to the guardian. Does nothing if the guardian is dead.
    void report(const Log::Cause& cause) noexcept;

    /// Sends the warnings of the working process to the guardian. Does nothing if the guardian is dead.
    void reportWarnings(const Log::Warnings& warnings) noexcept;

    /// Reports to the guardian that the working process ends and hasn't reverted all its changes. The guardian then
    /// reverts the remaining changes, as it does after the death of the working process.
    void abandon() noexcept;
    /// Makes awaitGuardianEnd() wait for the guardian. Needed if the end of this process kills init of criu's pid
    /// namespace: the kernel would then kill the guardian, too, before it can report success.
    void outlive() noexcept { outlives_ = true; }
    /// After outlive(), waits until the guardian has ended, for at most half a minute. Call it after work that
    /// succeeded.
    void awaitGuardianEnd() noexcept;
    /// Reports to the guardian that the working process ends by itself. Without this report, the guardian takes the
    /// exit status of a failure for one of a library that ended the process, and reverts changes.
    void noteEnd() noexcept;

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

/// Runs `work` in a child, the working process; the calling process becomes the guardian. If the user kills the
/// guardian, even by SIGKILL, the working process reverts its changes and ends. If the guardian were the tracer,
/// SIGKILL would leave injected code in the tasks, which would execute this code.
///
/// Passes stop requests to the working process. Returns the exit status of the working process, which is the result of
/// `work`. `work` must not throw.
///
/// Both processes stay in the namespaces in which the user started criu. The guardian notifies run.listeners, and the
/// working process notifies run.drivers. If the working process is killed, the guardian logs the cause to run.log.
int runGuarded(Run& run, const GuardedRoot& root, const std::function<int(Guardian&)>& work);

}  // namespace criu::engine
