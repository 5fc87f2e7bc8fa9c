// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// Returns the GPU that a name of --gpu-map denotes: a UUID, an index in the list, or a model. Returns null if no GPU
/// matches. Throws Error if several GPUs have this model.
const Gpu* findGpu(const std::vector<Gpu>& gpus, const std::string& name);

/// Assigns GPUs of this machine to GPUs of the images. Keys and values are UUIDs. For each GPU, tries --gpu-map first,
/// and then a GPU with the same UUID. The third choice is a free GPU of the same model with at least as much memory.
/// Omits GPUs for which this machine has no replacement: perhaps no process used them. Throws Error if --gpu-map is
/// invalid.
std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::cuda
