// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// Optional requirements for a GPU that replaces a GPU of the images.
struct MatchRules {
    bool firmware = true;
    bool sdmaFirmware = true;
    bool caches = true;
    bool gws = true;
    bool vram = true;
    bool numa = true;
    bool capability = true;

    /// Reads the options. If an option isn't set, reads its environment variable, such as KFD_FW_VER_CHECK with 0, 1,
    /// NO or YES. Throws Error for other values. `environment` is getenv(3).
    static MatchRules from(const model::Options& options, const std::function<const char*(const char*)>& environment);
};

/// GPU ids of the images, each with the id of the GPU that replaces it on this machine.
using GpuMap = std::map<GpuId, GpuId>;

/// Assigns a different GPU of `here` to each GPU of `source`. Replacements of GPUs that XGMI connects are also
/// connected, and replacements of GPUs of one CPU node also share a CPU node. Prefers GPUs with equal ids, obeys
/// `wanted` (--gpu-map), and tries all combinations. Throws Error with the GPU, the property, both values, and the
/// option that would allow the difference.
GpuMap matchGpus(const Topology& source, const Topology& here, const MatchRules& rules,
                 const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::amdgpu
