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

/// Memory snapshot of a frozen process, to be read when the process runs again. A clone that the kernel makes
/// copy-on-write holds it. The clone is created stopped, never runs, and is killed when this object or criu ends.
///
/// The process doesn't notice the clone: it is an orphan that was reparented to a process outside of the tree. It has
/// no files open and a private session. The kernel's OOM killer kills it first.
class MemoryClone {
public:
    /// `task` is frozen, and its clone is not reparented within the tree (ReparentCheck). `pid` is the pid of the
    /// process in its own namespace. Throws Error or compel::Error, with the process unchanged.
    MemoryClone(FrozenTask& task, TreePid pid);
    ~MemoryClone();
    MemoryClone(const MemoryClone&) = delete;
    MemoryClone& operator=(const MemoryClone&) = delete;

    [[nodiscard]] const kernel::ProcPid& dir() const noexcept { return dir_; }
    /// Returns the descriptor of /proc/PID/mem. Reading it doesn't copy pages that process and clone share.
    [[nodiscard]] int memory() const noexcept { return memory_.get(); }
    /// Returns the bytes of memory that only the clone still has. Any thread may call this. Throws Error.
    [[nodiscard]] std::uint64_t ownBytes() const;

private:
    static std::unique_ptr<StoppedClone> make(FrozenTask& task, TreePid pid);

    std::unique_ptr<StoppedClone> process_;
    kernel::ProcPid dir_;
    UniqueFd memory_;
};

/// Finds the process that gets orphans of a process: the nearest ancestor that is a subreaper (prctl(2)), else init of
/// the pid namespace.
class ReparentCheck {
public:
    explicit ReparentCheck(FrozenTree& tree) noexcept : tree_(tree) {}

    /// Returns true if a process of the tree would get the orphan. It would notice its end by SIGCHLD and wait(2).
    /// Throws compel::Error.
    [[nodiscard]] bool reparentsInTree(const FrozenTask& task);

private:
    [[nodiscard]] bool isSubreaper(FrozenTask& task);

    FrozenTree& tree_;
    std::map<HostPid, bool> subreapers_;  ///< results of earlier calls
};

}  // namespace criu::engine
