// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/kernel.hpp"

namespace criu::amdgpu {

/// What `criu check` can ask about: "amdgpu" (compute processes can be dumped and restored), and "amdgpu_…" for what
/// else processes may use. `kernel` must outlive the result.
std::vector<device::Feature> features(Kernel& kernel);

}  // namespace criu::amdgpu
