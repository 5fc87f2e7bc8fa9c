// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <vector>

#include "criu/kernel/proc/pid_limit.hpp"

namespace criu::engine {
class PlannedRestore;

/// Raises kernel.pid_max if pids, tids, process groups or sessions of the tree are above it, as CRIU 4.2 does. The
/// destructor lowers it again unless the restore has succeeded.
class PidRoom {
public:
    /// Called before the restore creates anything. Throws Error if the limit can't be raised.
    explicit PidRoom(const PlannedRestore& planned);
    ~PidRoom();
    PidRoom(const PidRoom&) = delete;
    PidRoom& operator=(const PidRoom&) = delete;

    /// Keeps the raised limit, because the restore has succeeded.
    void keep() noexcept { raised_.clear(); }

    /// Throws Error if the limit is too low and can't be raised. Changes nothing.
    static void require(const PlannedRestore& planned);

private:
    const PlannedRestore& planned_;
    void raise();
    void lower() noexcept;

    /// A raised limit. A restore may raise that of criu's pid namespace and that of the root's.
    struct Raised {
        kernel::PidLimit limit;
        pid_t before;
        pid_t now;
    };

    std::vector<Raised> raised_;  ///< limits to lower again
};

}  // namespace criu::engine
