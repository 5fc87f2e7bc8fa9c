// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// What must hold between a GPU of the images and the one that takes its place, beside what always must.
struct MatchRules {
    bool firmware = true;
    bool sdmaFirmware = true;
    bool caches = true;
    bool gws = true;
    bool vram = true;
    bool numa = true;
    bool capability = true;

    /// Options; where they say nothing, the environment (KFD_FW_VER_CHECK and so on: 0, 1, NO, YES). Throws Error on
    /// other values. `environment` is getenv(3).
    static MatchRules from(const model::GpuChecks& checks, const std::function<const char*(const char*)>& environment);
};

/// From GPU ids of the images to those of this machine.
using GpuMap = std::map<GpuId, GpuId>;

/// Finds a place for every GPU of `source` among those of `here`, each at its own, so that GPUs joined by XGMI still
/// are and GPUs on one CPU node still share one. GPUs with the same id are preferred, and `wanted` (--gpu-map) is
/// obeyed. All possibilities are tried. Throws Error naming the GPU, property and both values, and the option that
/// would allow it.
GpuMap matchGpus(const Topology& source, const Topology& here, const MatchRules& rules,
                 const std::vector<model::GpuMapping>& wanted);

}  // namespace criu::amdgpu
