// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"

namespace criu::amdgpu {

/// Returns the features for `criu check`: "amdgpu" (dump and restore of compute processes), and "amdgpu_…" for optional
/// parts. `kernel` must outlive the result.
std::vector<device::Feature> features(Kernel& kernel);

}  // namespace criu::amdgpu
