// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// The GPU that --gpu-map calls so: by its UUID, its place in the list, or its model if no other is of that one. Null
/// if there is none. Throws Error if several are of that model.
const Gpu* findGpu(const std::vector<Gpu>& gpus, const std::string& name);

/// Which GPU of this machine takes the place of which of the images, by UUID: what --gpu-map says, else the same GPU,
/// else another of the same model, and with no less memory, that is left over. GPUs that nothing here can replace are
/// left out: perhaps no process used them. Mappings of GPUs that `then` hasn't got are another driver's. Throws Error
/// if the map makes no sense.
std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::cuda
