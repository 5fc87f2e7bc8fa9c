// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::cuda {

/// Returns true if the process has mapped libcuda; only then may it have CUDA state. Returns false if the process has
/// ended.
[[nodiscard]] bool usesCuda(HostPid pid);

/// Returns true if a signal such as SIGSTOP has stopped the process.
[[nodiscard]] bool isStopped(HostPid pid);

/// Returns true if the thread is in a ptrace stop.
[[nodiscard]] bool isTraceStopped(HostPid process, pid_t thread);

/// Returns the number of bytes of private writable memory of a process.
[[nodiscard]] std::uint64_t dataSize(HostPid pid);

/// Returns true for the path of a device file of NVIDIA's driver.
[[nodiscard]] bool isDevicePath(std::string_view path) noexcept;

/// Descriptor of an NVIDIA device that a process has open.
struct DeviceDescriptor {
    int fd = -1;
    std::string path;
};

/// Returns the descriptors of NVIDIA devices that a process has open, except those with O_PATH. Throws Error.
[[nodiscard]] std::vector<DeviceDescriptor> deviceDescriptors(HostPid pid);

/// Throws Error if a process still has an NVIDIA device open after its checkpoint.
void refuseOpenDevices(HostPid pid);

/// inTree() returns the pid of a process in the process' pid namespace. threadInTree() returns the tid of a thread in
/// this namespace.
[[nodiscard]] TreePid inTree(HostPid pid);
[[nodiscard]] TreePid threadInTree(HostPid process, pid_t thread);

}  // namespace criu::cuda
