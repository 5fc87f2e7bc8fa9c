// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// Which GPU of this machine takes the place of which of the images, by UUID: what --gpu-map says (UUIDs, or places in
/// the lists), else the same GPU, else another of the same model that is left over. GPUs that nothing here can replace
/// are left out: perhaps no process used them. Throws Error if the map makes no sense.
std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::cuda
