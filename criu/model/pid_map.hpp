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

/// How processes of a restored tree are called: inside of its pid namespace, as images and the processes themselves
/// have it, and outside, as criu has it. One and the same unless the tree has a pid namespace of its own.
class PidMap {
public:
    PidMap() = default;
    /// `init`: the first process of the tree's own namespace, as criu calls it.
    explicit PidMap(HostPid init) : init_(init) {}

    [[nodiscard]] bool isOwnNamespace() const noexcept { return static_cast<bool>(init_); }

    /// Looks in `proc`, which is of criu's pid namespace, at all processes below the first one. One that is given to
    /// another parent meanwhile may be missed.
    void refresh(const kernel::ProcDir& proc = kernel::ProcDir());
    /// Looks at all processes there are; misses none that lives all the while.
    void refreshByAll();

    /// Nothing if there is no such process.
    [[nodiscard]] std::optional<HostPid> tryOutside(TreePid inside) const;
    /// Throws Error if there is no such process.
    [[nodiscard]] HostPid outside(TreePid inside) const;

    /// What a thread of a process is called inside, when they have been looked at. `process` is /proc/PID of it.
    [[nodiscard]] TreePid insideOf(const kernel::ProcPid& process, HostPid tid) const;

private:
    void add(const kernel::ProcPid& process, HostPid pid, kernel::ProcBuffer& buffer);
    void learnLevel(const kernel::ProcDir& proc, kernel::ProcBuffer& buffer);
    [[nodiscard]] TreePid inside(const kernel::TaskStatus& status) const;

    HostPid init_;
    std::size_t level_ = 0;                         ///< how deep its namespace is below criu's
    std::unordered_map<TreePid, HostPid> outside_;  ///< by the number inside
};

}  // namespace criu::engine
