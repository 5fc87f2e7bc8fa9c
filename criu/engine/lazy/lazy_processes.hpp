// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/kernel/proc/pidfd.hpp"

namespace criu::engine {

/// Restored process that a daemon serves.
struct LazyProcess {
    TreePid inside;   ///< pid of the process in the images
    UniqueFd memory;  ///< userfaultfd; empty if the process has all its pages
    kernel::PidFd process;
};

/// All restored processes of one restore.
class LazyProcesses {
public:
    /// Receives all processes from the restore, up to the message Begin. Throws Error.
    [[nodiscard]] static LazyProcesses receive(LazyLink& link, StopRequest& stop);

    [[nodiscard]] std::vector<LazyProcess>& all() noexcept { return processes_; }
    [[nodiscard]] bool anyLacksPages() const noexcept;

    void add(LazyProcess process) { processes_.push_back(std::move(process)); }
    /// Removes ended processes from the list. Throws Error.
    void dropEnded();

    /// Closes the userfaultfd of a process that has all its pages. As long as the userfaultfd is open, the kernel
    /// reports faults to it.
    void closeMemory(TreePid inside) noexcept;
    /// Empties the list. Call it when all processes and their descendants have all their pages.
    void clear() noexcept { processes_.clear(); }

    /// Kills all processes and their descendants, and logs this. Processes that lack pages would read zeroes. The other
    /// processes would be the rest of a tree, and could run beside the dumped tree, which the dump resumes.
    void end(Log& log) noexcept;

private:
    std::vector<LazyProcess> processes_;
};

}  // namespace criu::engine
