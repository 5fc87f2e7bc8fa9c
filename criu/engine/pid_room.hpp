// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>

#include "criu/kernel/proc/pid_limit.hpp"

namespace criu::engine {
class PlannedRestore;

/// Room for the numbers of a tree below kernel.pid_max: of processes, threads, process groups and sessions. Where there
/// is none the limit is raised, as CRIU 4.2 does, and is lowered again unless the restore succeeds.
class PidRoom {
public:
    /// Before anything is made. Throws Error where the limit can't be raised.
    explicit PidRoom(const PlannedRestore& planned);
    ~PidRoom();
    PidRoom(const PidRoom&) = delete;
    PidRoom& operator=(const PidRoom&) = delete;

    /// The tree is there.
    void keep() noexcept { before_.reset(); }

    /// Throws Error where the limit would have to be raised and can't be. Changes nothing.
    static void require(const PlannedRestore& planned);

private:
    const PlannedRestore& planned_;
    kernel::PidLimit limit_;
    std::optional<pid_t> before_;  ///< if it was raised, and may be lowered again
    pid_t raised_ = 0;
};

}  // namespace criu::engine
