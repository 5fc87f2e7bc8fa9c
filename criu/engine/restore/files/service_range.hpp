// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class LazyRestore;
class ScopedRlimits;
class PlannedRestore;
struct ServiceFds;

/// Chooses the range of criu's own descriptors below the limit of open files, which it raises if that's too low and
/// criu may, and moves everything there that criu has open already. `lazy` may be null. Throws Error if there is no
/// room.
ServiceFds reserveServiceFds(PlannedRestore& planned, LazyRestore* lazy, ScopedRlimits& limits);

}  // namespace criu::engine
