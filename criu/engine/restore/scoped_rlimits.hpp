// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>

#include "criu/engine/fwd.hpp"
#include "criu/kernel/proc/limits.hpp"

namespace criu::engine {

/// Scope in which criu has raised resource limits for a restore: criu needs many descriptors, and restored processes
/// inherit the limits. Also raises limits that the kernel counts for each user, as far as criu may. The destructor sets
/// the previous limits.
class ScopedRlimits {
public:
    /// Throws Error if criu may not raise a limit. Throws Error if criu's user may have fewer queued signals and POSIX
    /// timers than the tree has. The limit of locked memory becomes unlimited, or the hard limit if criu may not raise
    /// it. `raiseAll`: also raises each other limit to the highest value in the tree, because the processes may not
    /// raise their limits themselves.
    ScopedRlimits(const model::ProcessTree& tree, bool raiseAll);
    ~ScopedRlimits() { putBack(); }
    ScopedRlimits(const ScopedRlimits&) = delete;
    ScopedRlimits& operator=(const ScopedRlimits&) = delete;

    /// Raises the limit of open files to `count` if it is lower and criu may raise it (CAP_SYS_RESOURCE, fs.nr_open).
    /// Returns the limit.
    int makeRoomForFiles(std::size_t count) noexcept;

    [[nodiscard]] const kernel::ResourceLimits& before() const noexcept { return before_; }

    /// Sets the previous limits. Call it before criu executes the command of --exec-cmd or waits for the root.
    void putBack() const noexcept;

private:
    ScopedRlimits();

    kernel::ResourceLimits before_;
    int files_ = 0;
};

/// Returns the resource limits of the calling process.
[[nodiscard]] kernel::ResourceLimits currentRlimits();

}  // namespace criu::engine
