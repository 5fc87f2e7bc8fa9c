// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

namespace criu::amdgpu {

/// Called between the pieces of a copy; throws Error to end it.
using Pulse = std::function<void()>;

}  // namespace criu::amdgpu
