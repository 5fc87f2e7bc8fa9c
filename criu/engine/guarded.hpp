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

/// The process whose tree the guarded work is about, as both sides need to know it.
struct GuardedRoot {
    /// Throws Error if there is no such process.
    explicit GuardedRoot(HostPid root);

    kernel::PidFd process;
    kernel::NamespaceIds ids;   ///< of its namespaces
    kernel::NamespaceIds home;  ///< those of criu
};

/// The other process, as the one that does the work sees it: it watches, and notifies listeners of stages, with all
/// that they were given there.
class Guardian {
public:
    /// `guardian`: the process that watches. `listeners` are notified here of what takes back what they have done, if
    /// that process is gone; `drivers` always here, where their part of the dump is.
    Guardian(const GuardedRoot& root, UniqueFd channel, const kernel::PidFd& guardian, model::StageListeners& listeners,
             model::StageListeners& drivers) noexcept
        : root_(root), channel_(std::move(channel)), guardian_(guardian), listeners_(listeners), drivers_(drivers) {}

    [[nodiscard]] const GuardedRoot& root() const noexcept { return root_; }
    /// As StageListeners::notify() and require().
    int notify(model::Stage stage);
    void require(model::Stage stage);
    /// As StageListeners::nameExternals(); costs nothing if nobody names any.
    std::vector<std::string> nameExternals();

    /// What the work failed of, for whoever watches; does nothing if that process is gone.
    void report(const Log::Cause& cause) noexcept;

    /// This process is about to end without having undone all that it has done: whoever watches does what is done for
    /// one that was killed.
    void abandon() noexcept;
    /// Somebody who matters to the guardian ends with this process: when the work has succeeded, the guardian says so
    /// and ends first.
    void outlive() noexcept { outlives_ = true; }
    /// After the work, which has succeeded: returns at once, or if outlive() was called when the guardian has ended, at
    /// the latest after half a minute.
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

/// Runs `work` in a child process, which the caller only watches. Killing this process (even with SIGKILL, which nobody
/// can handle) makes the child stop what it does and undo it: a tracer that just vanished would leave tasks in the
/// midst of code that isn't theirs. Stop requests are passed on. Returns the child's exit status; `work`, in the child,
/// returns it and must not throw.
/// Both processes stay in the namespaces that criu was started in, where nobody in those of the tree sees them.
/// Notified of stages are run.listeners, by the caller's process, and run.drivers, by the child. run.log gets what the
/// child couldn't say itself.
int runGuarded(Run& run, const GuardedRoot& root, const std::function<int(Guardian&)>& work);

}  // namespace criu::engine
