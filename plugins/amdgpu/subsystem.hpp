// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>

#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"

namespace criu::amdgpu {

/// Creates the subsystem for AMD GPUs. `environment` is getenv(3).
std::unique_ptr<device::Subsystem> makeSubsystem(std::unique_ptr<Kernel> kernel,
                                                 std::function<const char*(const char*)> environment);

/// Parses a number of bytes in C notation, which K, M or G may follow. Throws Error.
std::uint64_t parseBufferSize(std::string_view text);

}  // namespace criu::amdgpu
