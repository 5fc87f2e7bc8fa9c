// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <vector>

#include "criu/kernel/proc/pid_limit.hpp"

namespace criu::engine {
class PlannedRestore;

/// Raises kernel.pid_max, like CRIU 4.2, if an id of a process, thread, process group or session of the tree is above
/// it. If the restore has failed, the destructor lowers the limit again.
class PidRoom {
public:
    /// Raises the limits. Throws Error if criu can't raise them. Call it before the restore creates anything.
    explicit PidRoom(const PlannedRestore& planned);
    ~PidRoom();
    PidRoom(const PidRoom&) = delete;
    PidRoom& operator=(const PidRoom&) = delete;

    /// Keeps the raised limits. Call it when the restore has succeeded.
    void keep() noexcept { raised_.clear(); }

    /// Throws Error if a limit is too low and criu can't raise it. Changes nothing.
    static void require(const PlannedRestore& planned);

private:
    const PlannedRestore& planned_;
    void raise();
    void lower() noexcept;

    /// Raised limit of criu's pid namespace, or of the pid namespace that the root joins.
    struct Raised {
        kernel::PidLimit limit;
        pid_t before;
        pid_t now;
    };

    std::vector<Raised> raised_;  ///< limits that the destructor lowers
};

}  // namespace criu::engine
