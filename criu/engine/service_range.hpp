// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class LazyRestore;
class PlannedRestore;
struct ServiceFds;

/// Chooses the range of criu's own descriptors below `limit` (RLIMIT_NOFILE), and moves everything there that criu has
/// open already. `lazy` may be null. Throws Error if there is no room.
ServiceFds takeService(PlannedRestore& planned, LazyRestore* lazy, int limit);

}  // namespace criu::engine
