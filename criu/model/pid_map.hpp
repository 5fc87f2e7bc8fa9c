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

/// Map between TreePid and HostPid of restored processes. Both are equal unless the tree has its own pid namespace.
class PidMap {
public:
    PidMap() = default;
    /// `init` is the first process of the tree's own pid namespace.
    explicit PidMap(HostPid init) : init_(init) {}

    [[nodiscard]] bool isOwnNamespace() const noexcept { return static_cast<bool>(init_); }

    /// Reads the ids of all processes below the first one from `proc`, which belongs to criu's pid namespace. Can
    /// miss a process that the kernel reparents at the same time.
    void refresh(const kernel::ProcDir& proc = kernel::ProcDir());
    /// Reads the ids of all processes of the system. Misses no process that lives during the whole call.
    void refreshByAll();

    /// Returns nothing if there is no such process.
    [[nodiscard]] std::optional<HostPid> tryOutside(TreePid inside) const;
    /// Throws Error if there is no such process.
    [[nodiscard]] HostPid outside(TreePid inside) const;

    /// Returns the TreePid of a thread, after refresh(). `process` is /proc/PID of its process.
    [[nodiscard]] TreePid insideOf(const kernel::ProcPid& process, HostPid tid) const;

private:
    void add(const kernel::ProcPid& process, HostPid pid, kernel::ProcBuffer& buffer);
    void learnLevel(const kernel::ProcDir& proc, kernel::ProcBuffer& buffer);
    [[nodiscard]] TreePid inside(const kernel::TaskStatus& status) const;

    HostPid init_;
    std::size_t level_ = 0;                         ///< depth of the tree's namespace below criu's
    std::unordered_map<TreePid, HostPid> outside_;  ///< by TreePid
};

}  // namespace criu::engine
