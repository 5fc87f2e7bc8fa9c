// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/ids.hpp"

namespace criu::cuda {

/// True if the process has libcuda mapped, which CUDA state needs. False if it has ended.
[[nodiscard]] bool usesCuda(HostPid pid);

/// True if a signal such as SIGSTOP has stopped the process.
[[nodiscard]] bool isStopped(HostPid pid);

/// True if the thread is in a ptrace stop.
[[nodiscard]] bool isTraceStopped(HostPid process, pid_t thread);

/// Returns the private writable memory of a process, in bytes.
[[nodiscard]] std::uint64_t dataSize(HostPid pid);

/// Throws Error if a process still has an NVIDIA device open after its checkpoint.
void refuseOpenDevices(HostPid pid);

/// Return the pid, or a thread's tid, in the process' own pid namespace.
[[nodiscard]] TreePid inTree(HostPid pid);
[[nodiscard]] TreePid threadInTree(HostPid process, pid_t thread);

}  // namespace criu::cuda
