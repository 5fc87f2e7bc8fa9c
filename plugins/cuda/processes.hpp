// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/ids.hpp"

namespace criu::cuda {

/// Whether a process has the CUDA driver's library in memory, without which it has no CUDA state. No if it has ended.
[[nodiscard]] bool usesCuda(HostPid pid);

/// Whether a signal has stopped it (SIGSTOP and its like).
[[nodiscard]] bool isStopped(HostPid pid);

/// Whether a thread stands still for whoever traces it.
[[nodiscard]] bool isTraceStopped(HostPid process, pid_t thread);

/// Bytes of private writable memory of a process.
[[nodiscard]] std::uint64_t dataSize(HostPid pid);

/// Throws Error if a process that the driver has copied everything out of still has one of its devices open.
void refuseOpenDevices(HostPid pid);

/// What a process, or a thread of one, is called in its own pid namespace.
[[nodiscard]] TreePid inTree(HostPid pid);
[[nodiscard]] TreePid threadInTree(HostPid process, pid_t thread);

}  // namespace criu::cuda
