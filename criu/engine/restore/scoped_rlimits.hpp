// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>

#include "criu/kernel/proc/limits.hpp"

namespace criu::model {
struct ProcessTree;
}

namespace criu::engine {

/// The resource limits of criu while it restores: as high as its descriptors, and processes that inherit them, need.
/// The destructor puts back what they were before.
class ScopedRlimits {
public:
    /// `raiseAll`: processes of the tree can't raise their limits themselves, so they are born with the highest that
    /// any of them had, and may lock as much memory while they are restored as that lets them. Throws Error if criu may
    /// not raise a limit that far.
    ScopedRlimits(const model::ProcessTree& tree, bool raiseAll);
    ~ScopedRlimits() { putBack(); }
    ScopedRlimits(const ScopedRlimits&) = delete;
    ScopedRlimits& operator=(const ScopedRlimits&) = delete;

    /// Allows more open files if `count` aren't, and criu may do that (CAP_SYS_RESOURCE, fs.nr_open). Returns how many
    /// are allowed then.
    int makeRoomForFiles(std::size_t count) noexcept;

    /// Before criu becomes something else, such as the command of --exec-cmd, or just waits.
    void putBack() const noexcept;

private:
    ScopedRlimits();

    kernel::ResourceLimits before_;
    int files_ = 0;
};

/// Those of the calling process.
[[nodiscard]] kernel::ResourceLimits currentRlimits();

}  // namespace criu::engine
