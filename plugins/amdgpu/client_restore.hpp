// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/criu-amdgpu.hpp"
#include "plugins/amdgpu/driver/drm.hpp"

namespace criu::amdgpu {

/// Throws Error unless contexts and synchronization objects of an image are in order, and a restore can create them.
void validateClient(const CriuRenderNode& image);

/// Restores contexts and synchronization objects of a render node's file, and repeats the number of submissions of each
/// ring. Needs free GPU addresses and CAP_SYS_NICE for high priorities. Throws Error.
void restoreClient(Kernel& kernel, int fd, const CriuRenderNode& image);

}  // namespace criu::amdgpu
