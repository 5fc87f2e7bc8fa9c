// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>

#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// What NVIDIA's management library (NVML, libnvidia-ml.so.1) says of the memory of each GPU, by its UUID. Empty if the
/// library isn't installed, or doesn't tell of all GPUs.
std::map<std::string, GpuMemory> readGpuMemory();

}  // namespace criu::cuda
