// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {
struct TaskStatus;
}

namespace criu::engine {

/// Map between TreePid and HostPid of restored processes. If the tree has no private pid namespace, both are equal.
class PidMap {
public:
    PidMap() = default;
    /// `init` is the first process of the tree's private pid namespace.
    explicit PidMap(HostPid init) : init_(init) {}

    [[nodiscard]] bool isOwnNamespace() const noexcept { return static_cast<bool>(init_); }

    /// Reads the pids of all descendants of the namespace's first process from `proc`, a /proc of criu's pid namespace.
    /// May miss a process that the kernel reparents at the same time.
    void refresh(const kernel::ProcDir& proc = kernel::ProcDir());
    /// Reads the pids of all processes of the system. Finds each process that exists during the complete call.
    void refreshByAll();

    /// Returns the HostPid of a process; nullopt if no process has this TreePid.
    [[nodiscard]] std::optional<HostPid> tryOutside(TreePid inside) const;
    /// Returns the HostPid of a process. Throws Error if no process has this TreePid.
    [[nodiscard]] HostPid outside(TreePid inside) const;

    /// Returns the TreePid of a thread. Call it after refresh(). `process`: /proc/PID directory of the thread's
    /// process.
    [[nodiscard]] TreePid insideOf(const kernel::ProcPid& process, HostPid tid) const;

private:
    void add(const kernel::ProcPid& process, HostPid pid, kernel::ProcBuffer& buffer);
    void learnLevel(const kernel::ProcDir& proc, kernel::ProcBuffer& buffer);
    [[nodiscard]] TreePid inside(const kernel::TaskStatus& status) const;

    HostPid init_;
    std::size_t level_ = 0;                         ///< number of levels of the tree's pid namespace below criu's
    std::unordered_map<TreePid, HostPid> outside_;  ///< HostPid of each process by its TreePid
};

}  // namespace criu::engine
