// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "criu/base/unique_fd.hpp"
#include "plugins/amdgpu/gpu.hpp"

namespace criu::amdgpu {

/// A GPU by libdrm_amdgpu, which is loaded when it is used first. `node`: its render node, opened for reading and
/// writing, of which the library makes a copy. `making`: one for all GPUs of a process; outlives the object. Throws
/// Error if the library isn't there, or can't work with the node.
std::unique_ptr<Gpu> openLibdrmGpu(const UniqueFd& node, std::mutex& making);

/// Loads the library, if it is there.
void loadLibdrm() noexcept;

}  // namespace criu::amdgpu
