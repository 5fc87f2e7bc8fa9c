// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class PlannedRestore;
struct ServiceFds;

/// Chooses the range of criu's own descriptors below `limit` (RLIMIT_NOFILE), and moves everything there that criu has
/// open already. Throws Error if there is no room.
ServiceFds takeService(PlannedRestore& planned, int limit);

}  // namespace criu::engine
