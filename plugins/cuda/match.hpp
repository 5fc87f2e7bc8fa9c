// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// Returns the GPU with this name of --gpu-map: a UUID, an index in the list, or a model. Returns null if no GPU has
/// the name. Throws Error if several GPUs have this model.
const Gpu* findGpu(const std::vector<Gpu>& gpus, const std::string& name);

/// Assigns GPUs of this machine to GPUs of the images. Keys and values are UUIDs. --gpu-map has precedence, then a GPU
/// with the same UUID, then a free GPU of the same model with at least as much memory. Omits GPUs for which this
/// machine has no replacement, because perhaps no process used them. Throws Error if --gpu-map is invalid.
std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::cuda
