// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>

#include "plugins/cuda/driver.hpp"

namespace criu {
class StopRequest;
}

namespace criu::cuda {

/// Returns the memory of each GPU, from NVIDIA's management library (NVML, libnvidia-ml.so.1). The key is the UUID.
/// Returns an empty map if the library isn't installed, or fails for a GPU.
std::map<std::string, GpuMemory> readGpuMemory();

/// Calls Driver::memory() with a timeout. Throws Error after the timeout or a stop request.
std::map<std::string, GpuMemory> askForMemory(const Driver& driver, StopRequest& stop);

}  // namespace criu::cuda
