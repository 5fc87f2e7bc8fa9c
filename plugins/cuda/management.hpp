// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>

#include "plugins/cuda/driver.hpp"

namespace criu {
class StopRequest;
}

namespace criu::cuda {

/// What NVIDIA's management library (NVML, libnvidia-ml.so.1) says of the memory of each GPU, by its UUID. Empty if the
/// library isn't installed, or doesn't tell of all GPUs.
std::map<std::string, GpuMemory> readGpuMemory();

/// Driver::memory(), which is waited for as long as the driver itself is. Throws Error if it doesn't answer, or if a
/// stop is requested.
std::map<std::string, GpuMemory> askForMemory(const Driver& driver, StopRequest& stop);

}  // namespace criu::cuda
