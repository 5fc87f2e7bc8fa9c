// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"

namespace criu::amdgpu {

/// Returns the features that `criu check` tests. "amdgpu" means that criu can dump and restore compute processes; names
/// of other features begin with "amdgpu_". `kernel` must outlive the result.
std::vector<device::Feature> features(Kernel& kernel);

}  // namespace criu::amdgpu
