// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

/// Objects that the driver can't checkpoint, as far as /proc and descriptors show them. The driver refuses some of them
/// after criu has locked or frozen processes, and leaves others open. Managed memory, imported memory and multicast
/// objects have no trace in /proc, so only the driver finds them.
namespace criu::cuda {

/// Object that prevents a dump, and what the user can do.
struct Unsupported {
    std::string reason;
    std::string remedy;
};

/// Returns the RDMA and GDRCopy devices that a process has open, with or without CUDA state. Returns nothing for a
/// process that has ended or that criu may not trace.
[[nodiscard]] std::vector<Unsupported> foreignDevices(HostPid pid);

/// Returns the devices of the fabric, the parts of GPUs (MIG) and the connections to MPS of a process with CUDA state.
/// `gpuParts`: result of Driver::gpuParts().
[[nodiscard]] std::vector<Unsupported> unsupportedObjects(HostPid pid, const std::map<int, std::string>& gpuParts);

/// Returns processes with CUDA state that share memory of GPUs (CUDA IPC). libcuda passes its descriptor of
/// /dev/nvidia-uvm to the other process, through a socket with a name of libcuda's own.
[[nodiscard]] std::vector<Unsupported> sharedGpuMemory(std::span<const HostPid> processes);

}  // namespace criu::cuda
