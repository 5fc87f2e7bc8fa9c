// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>

#include "criu/engine/fwd.hpp"
#include "criu/kernel/proc/limits.hpp"

namespace criu::engine {

/// Scope with raised resource limits of criu during a restore. Restored processes inherit the limits, and criu needs
/// many descriptors. Limits that the kernel counts per user are raised as far as criu may. The destructor sets the
/// previous limits.
class ScopedRlimits {
public:
    /// `raiseAll`: the processes can't raise their limits themselves, so they inherit the highest limits of the tree.
    /// The limit of locked memory becomes unlimited if criu may do that, else the hard limit. Throws Error if criu may
    /// not raise a limit, or if its user has no room for the queued signals and POSIX timers of the tree.
    ScopedRlimits(const model::ProcessTree& tree, bool raiseAll);
    ~ScopedRlimits() { putBack(); }
    ScopedRlimits(const ScopedRlimits&) = delete;
    ScopedRlimits& operator=(const ScopedRlimits&) = delete;

    /// Raises the limit of open files to `count` if it is lower and criu may raise it (CAP_SYS_RESOURCE, fs.nr_open).
    /// Returns the limit.
    int makeRoomForFiles(std::size_t count) noexcept;

    [[nodiscard]] const kernel::ResourceLimits& before() const noexcept { return before_; }

    /// Sets the previous limits. Called before criu executes the command of --exec-cmd, or only waits.
    void putBack() const noexcept;

private:
    ScopedRlimits();

    kernel::ResourceLimits before_;
    int files_ = 0;
};

/// Returns the resource limits of the calling process.
[[nodiscard]] kernel::ResourceLimits currentRlimits();

}  // namespace criu::engine
