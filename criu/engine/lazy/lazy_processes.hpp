// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {

class LazyLink;

/// A restored process.
struct LazyProcess {
    TreePid inside;   ///< as images call it
    UniqueFd memory;  ///< its userfaultfd as long as it lacks pages
    kernel::PidFd process;
};

/// Those of one restore.
class LazyProcesses {
public:
    /// All that the restore hands over before it waits for faults to be served. Throws Error.
    [[nodiscard]] static LazyProcesses receive(LazyLink& link, StopRequest& stop);

    [[nodiscard]] std::vector<LazyProcess>& all() noexcept { return processes_; }
    [[nodiscard]] bool anyLacksPages() const noexcept;

    void add(LazyProcess process) { processes_.push_back(std::move(process)); }
    /// Those that have ended aren't kept any more. Throws Error.
    void dropEnded();

    /// A process has all its pages: its descriptor isn't kept any more, or the kernel would go on to ask for pages.
    void closeMemory(TreePid inside) noexcept;
    /// It and all that it has created have their pages.
    void forget(TreePid inside) noexcept;

    /// Kills them and all below them, and says so: some would find zeroes instead of their memory, and the others must
    /// not run here while the tree that they were copied from goes on.
    void end(Log& log) noexcept;

private:
    std::vector<LazyProcess> processes_;
};

}  // namespace criu::engine
