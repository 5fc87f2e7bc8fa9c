// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu {
class Journal;
}

namespace criu::engine {

class StoppedClone;
struct FrozenTask;
class FrozenTree;

/// Memory snapshot of a frozen process. The dump reads the snapshot when the process runs again. The snapshot is the
/// memory of a stopped clone: a copy-on-write copy of the process' memory. The destructor kills the clone; if criu
/// ends, the kernel kills it.
///
/// The dumped process doesn't notice the clone, because the clone's parent is a process outside of the tree. Only its
/// RUSAGE_CHILDREN contains the intermediate process, which the dumped process reaps. The clone has no open files and a
/// private session. If memory runs out, the OOM killer of the kernel kills the clone first.
class MemoryClone {
public:
    /// Makes the clone by a blob, which criu records in `journal`. `task`: frozen process for which reparentsInTree()
    /// returned false. After Error or compel::Error, the process is unchanged. If criu dies, the process itself
    /// completes and reverts all changes, except the blob's memory.
    MemoryClone(FrozenTask& task, Journal& journal);
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
    static std::unique_ptr<StoppedClone> make(FrozenTask& task, Journal& journal);

    std::unique_ptr<StoppedClone> process_;
    kernel::ProcPid dir_;
    UniqueFd memory_;
};

/// Returns true if the kernel would reparent an orphan of `task` to a process of the tree. That process would get
/// SIGCHLD when the orphan ends. The kernel chooses the nearest ancestor that is a subreaper (prctl(2)), or init of the
/// pid namespace. Needs FrozenTask::isSubreaper.
[[nodiscard]] bool reparentsInTree(FrozenTree& tree, const FrozenTask& task);

}  // namespace criu::engine
