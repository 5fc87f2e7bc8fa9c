// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {

class StoppedClone;
struct FrozenTask;
class FrozenTree;

/// Memory snapshot of a frozen process. The dump reads the snapshot when the process runs again. The snapshot is the
/// memory of a stopped clone: a copy-on-write copy of the process' memory. The destructor kills the clone; if criu
/// ends, the kernel kills it.
///
/// The dumped process doesn't notice the clone, because the clone's parent is a process outside of the tree. The clone
/// has no open files and a private session. If memory runs out, the OOM killer of the kernel kills the clone first.
class MemoryClone {
public:
    /// Makes the clone. `task`: frozen process for which ReparentCheck::reparentsInTree() returned false. `pid`: pid of
    /// the process in its own pid namespace. After Error or compel::Error, the process is unchanged.
    MemoryClone(FrozenTask& task, TreePid pid);
    ~MemoryClone();
    MemoryClone(const MemoryClone&) = delete;
    MemoryClone& operator=(const MemoryClone&) = delete;

    [[nodiscard]] const kernel::ProcPid& dir() const noexcept { return dir_; }
    /// Returns a descriptor of the clone's /proc/PID/mem. Reading it doesn't copy pages that process and clone share.
    [[nodiscard]] int memory() const noexcept { return memory_.get(); }
    /// Returns the size of the clone's pages that the process doesn't share any more, because it has written to them
    /// since. Any thread may call this function. Throws Error.
    [[nodiscard]] std::uint64_t ownBytes() const;
    /// Returns true if the clone is in its ptrace stop. SIGKILL from another process ends this stop, and the kernel
    /// then removes the clone's memory. Any thread may call this function.
    [[nodiscard]] bool isStopped() const noexcept;

private:
    static std::unique_ptr<StoppedClone> make(FrozenTask& task, TreePid pid);

    std::unique_ptr<StoppedClone> process_;
    kernel::ProcPid dir_;
    UniqueFd memory_;
};

/// Checks which process would become the parent of an orphan: the kernel chooses the nearest ancestor that is a
/// subreaper (prctl(2)), or init of the pid namespace.
class ReparentCheck {
public:
    explicit ReparentCheck(FrozenTree& tree) noexcept : tree_(tree) {}

    /// Returns true if the kernel would reparent an orphan of `task` to a process of the tree. That process would get
    /// SIGCHLD when the orphan ends. Throws compel::Error.
    [[nodiscard]] bool reparentsInTree(const FrozenTask& task);

private:
    [[nodiscard]] bool isSubreaper(FrozenTask& task);

    FrozenTree& tree_;
    std::map<HostPid, bool> subreapers_;  ///< results of isSubreaper(); the key is a pid
};

}  // namespace criu::engine
