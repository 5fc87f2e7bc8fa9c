// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Creates the root in new namespaces. The root waits at the gate, then creates its children, and they create their own
/// children. Returns only in the coordinator. `asSibling`: the root becomes a child of the coordinator's parent
/// (--restore-sibling).
HostPid createRoot(RestoreRun& run, bool asSibling);

}  // namespace criu::engine
