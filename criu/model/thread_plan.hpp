// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::model {

struct Task;

/// The kernel objects that a thread can have apart from the leader of its process, by clone(2) or unshare(2). Numbers
/// count within the process, and 0 stands for the leader's object.
struct ThreadObjects {
    std::uint32_t fs = 0;       ///< CLONE_FS: working directory, root and umask
    std::uint32_t sysvsem = 0;  ///< CLONE_SYSVSEM: the list of semaphore adjustments

    friend auto operator<=>(const ThreadObjects&, const ThreadObjects&) = default;
};

/// Those of the threads of a process, in their order; none for a dead process.
[[nodiscard]] std::vector<ThreadObjects> objectsOf(const Task& task);

/// Throws Error if images of the process say that a thread has objects apart from the leader, but not which, or if
/// these can't be made.
void requireObjects(const Task& task);

/// How one thread comes by its objects: it is born with all objects of `creator`, and unshares some.
struct ThreadBirth {
    std::size_t thread = 0;   ///< index among the threads of the process
    std::size_t creator = 0;  ///< likewise; 0: the leader
    bool unsharesFs = false;
    bool unsharesSysvsem = false;
};

/// Plans the births of all threads but the first, the leader; creators come before the threads that they create. A
/// thread shares each object with its creator or begins a new one. `early`: threads that, of those with the same
/// objects, should create the others. Throws Error if no order of births leads there: a thread would have to share one
/// object with one thread, and the other object with another.
[[nodiscard]] std::vector<ThreadBirth> planThreads(std::span<const ThreadObjects> threads,
                                                   const std::set<std::size_t>& early = {});

/// The threads of a process that exist before all others, to create the children that are theirs: the leader makes them
/// while the process is built. Children of threads that only another thread than the leader can create aren't theirs
/// after a restore.
[[nodiscard]] std::set<TreePid> earlyThreads(const Task& task);

}  // namespace criu::model
