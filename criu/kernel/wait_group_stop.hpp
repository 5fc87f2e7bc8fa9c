// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Waits until every thread of processes that were sent a stop signal stands still, so that whoever waits for criu
/// finds them so. A second at most: some may be gone, or in a frozen cgroup.
void waitGroupStop(std::span<const HostPid> pids) noexcept;

}  // namespace criu::engine
