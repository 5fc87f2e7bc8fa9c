// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// True for the path of a device of NVIDIA's driver.
[[nodiscard]] bool isDevicePath(std::string_view path) noexcept;

/// Descriptor of a device of NVIDIA's driver.
struct DeviceDescriptor {
    int fd = -1;
    std::string path;
};

/// Returns the descriptors of devices that a process has open, without those of O_PATH. Throws Error.
[[nodiscard]] std::vector<DeviceDescriptor> deviceDescriptors(HostPid pid);

/// Throws Error if a process still has an NVIDIA device open after its checkpoint.
void refuseOpenDevices(HostPid pid);

/// Return the pid, or a thread's tid, in the process' own pid namespace.
[[nodiscard]] TreePid inTree(HostPid pid);
[[nodiscard]] TreePid threadInTree(HostPid process, pid_t thread);

}  // namespace criu::cuda
