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

/// The memory of a frozen process as it is now, to be read when that goes on: a clone, which the kernel makes
/// copy-on-write. It never runs: it is born stopped, is traced by criu, and is killed when this object or criu ends.
///
/// The process it is made of doesn't notice. It is nobody's child there, but an orphan that has been adopted by
/// somebody outside of the tree. It has no files open, a session of its own, and is what the kernel kills first if
/// memory runs out.
class MemoryClone {
public:
    /// `task` is frozen, and its clone would not be adopted within the tree (ReparentCheck). Throws Error, or
    /// compel::Error, with the process as it was.
    /// `pid`: how the process calls itself.
    MemoryClone(FrozenTask& task, TreePid pid);
    ~MemoryClone();
    MemoryClone(const MemoryClone&) = delete;
    MemoryClone& operator=(const MemoryClone&) = delete;

    [[nodiscard]] const kernel::ProcPid& dir() const noexcept { return dir_; }
    /// /proc/PID/mem. Reading it leaves pages shared that the process and its clone still have in common.
    [[nodiscard]] int memory() const noexcept { return memory_.get(); }
    /// How much of its memory nobody else has any more, in bytes. For any thread. Throws Error.
    [[nodiscard]] std::uint64_t ownBytes() const;

private:
    static std::unique_ptr<StoppedClone> make(FrozenTask& task, TreePid pid);

    std::unique_ptr<StoppedClone> process_;
    kernel::ProcPid dir_;
    UniqueFd memory_;
};

/// Who adopts orphans that a process leaves behind: the nearest ancestor that is a child subreaper (prctl(2)), else the
/// first process of the pid namespace.
class ReparentCheck {
public:
    explicit ReparentCheck(FrozenTree& tree) noexcept : tree_(tree) {}

    /// Somebody in the tree, who would learn of the end of the orphan, by SIGCHLD and wait(2). Throws compel::Error.
    [[nodiscard]] bool reparentsInTree(const FrozenTask& task);

private:
    [[nodiscard]] bool isSubreaper(FrozenTask& task);

    FrozenTree& tree_;
    std::map<HostPid, bool> subreapers_;  ///< what is known already
};

}  // namespace criu::engine
