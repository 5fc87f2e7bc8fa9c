// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Chooses the range of service descriptors, and moves all open descriptors of criu there. Raises the limit of open
/// files if it is too low and criu may. `lazy` may be null. Throws Error if no range is free.
ServiceFds reserveServiceFds(PlannedRestore& planned, LazyRestore* lazy, ScopedRlimits& limits);

}  // namespace criu::engine
