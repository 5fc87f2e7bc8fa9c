// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// Returns the GPU that --gpu-map names by UUID, index in the list, or model; null if there is none. Throws Error if
/// several GPUs have that model.
const Gpu* findGpu(const std::vector<Gpu>& gpus, const std::string& name);

/// Assigns GPUs of this machine to GPUs of the images, by UUID. --gpu-map decides first, then the same UUID, then a
/// free GPU of the same model with no less memory. Leaves out GPUs without a replacement, since perhaps no process used
/// them. Ignores mappings of GPUs that `then` lacks, which are another driver's. Throws Error for an invalid map.
std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::cuda
