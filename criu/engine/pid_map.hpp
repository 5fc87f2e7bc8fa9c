// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <unordered_map>

#include "criu/kernel/procdir.hpp"

namespace criu::engine {

/// How processes of a restored tree are called: inside of its pid namespace, as images and the processes themselves
/// have it, and outside, as criu has it. One and the same unless the tree has a pid namespace of its own.
class PidMap {
public:
    PidMap() = default;
    /// `init`: the first process of the tree's own namespace, as criu calls it.
    explicit PidMap(pid_t init) : init_(init) {}

    [[nodiscard]] bool isOwnNamespace() const noexcept { return init_ != 0; }

    /// Looks at all processes below the first one. One that is given to another parent meanwhile may be missed.
    void refresh();
    /// Looks at all processes there are; misses none that lives all the while.
    void refreshByAll();

    /// Nothing if there is no such process.
    [[nodiscard]] std::optional<pid_t> tryOutside(pid_t inside) const;
    /// Throws Error if there is no such process.
    [[nodiscard]] pid_t outside(pid_t inside) const;

    /// What a thread of a process is called inside. `process` is /proc/PID of it.
    [[nodiscard]] pid_t insideOf(const kernel::ProcPid& process, pid_t tid) const;

private:
    void add(const kernel::ProcPid& process, pid_t pid, kernel::ProcBuffer& buffer);

    pid_t init_ = 0;
    std::unordered_map<pid_t, pid_t> outside_;  ///< by the number inside
};

}  // namespace criu::engine
