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

/// Numbers of kernel objects that a thread may have apart from the leader of its process, because of clone(2) or
/// unshare(2). The numbers are valid within one process; 0 stands for the leader's object.
struct ThreadObjects {
    std::uint32_t fs = 0;       ///< object of CLONE_FS: working directory, root and umask
    std::uint32_t sysvsem = 0;  ///< object of CLONE_SYSVSEM: list of semaphore undo values

    friend auto operator<=>(const ThreadObjects&, const ThreadObjects&) = default;
};

/// Returns the object sets of all threads of a process, in the order of the threads; empty for a zombie.
[[nodiscard]] std::vector<ThreadObjects> objectsOf(const Task& task);

/// Throws Error if the images of the process lack the content of an object, if they give the leader a number other than
/// 0, or if the kernel can't create these objects.
void requireObjects(const Task& task);

/// Plan for the objects of one thread: at its creation, the thread has all objects of `creator`; then it unshares some
/// of them.
struct ThreadBirth {
    std::size_t thread = 0;   ///< index of the thread in the process
    std::size_t creator = 0;  ///< index of the thread that creates it; 0 for the leader
    bool unsharesFs = false;
    bool unsharesSysvsem = false;
};

/// Plans the creation of all threads except the leader. Creators come before the threads that they create. A thread
/// shares each object with its creator or unshares it. `early`: threads that should create the other threads with the
/// same objects. Throws Error if no order is possible: a thread may share one object with one thread and another
/// object with a different thread.
[[nodiscard]] std::vector<ThreadBirth> planThreads(std::span<const ThreadObjects> threads,
                                                   const std::set<std::size_t>& early = {});

/// Returns the threads that must exist before the process creates its children, because some children belong to these
/// threads. Only threads that the leader itself creates can be early. After a restore, children of all other threads
/// have another parent thread.
[[nodiscard]] std::set<TreePid> earlyThreads(const Task& task);

}  // namespace criu::model
