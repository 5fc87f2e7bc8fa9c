// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Waits until every thread of the processes that got a stop signal is stopped, so that criu's caller finds them
/// stopped. Gives up after a second: a process may have ended or be in a frozen cgroup.
void waitGroupStop(std::span<const HostPid> pids) noexcept;

}  // namespace criu::engine
