// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Waits until every thread of the processes `pids` is stopped. Call it after sending a stop signal to each process,
/// because criu's caller must find all of them stopped. Gives up after one second: a process may have ended, or may be
/// in a frozen cgroup.
void waitGroupStop(std::span<const HostPid> pids) noexcept;

}  // namespace criu::engine
