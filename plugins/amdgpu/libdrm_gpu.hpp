// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "criu/base/unique_fd.hpp"
#include "plugins/amdgpu/gpu.hpp"

namespace criu::amdgpu {

/// GPUs by libdrm_amdgpu, which is loaded when it is used first. All that copy by one GPU have one context of it, and
/// take its copy engines in turn. May be used by several threads.
class LibdrmGpus {
public:
    /// For one thread. `openNode` opens the GPU's render node for reading and writing. The result may be used as long
    /// as this object is there. Throws Error if the library isn't there, or can't work with the node.
    [[nodiscard]] std::unique_ptr<Gpu> open(std::uint32_t renderMinor, const std::function<UniqueFd()>& openNode);

    class Opened;

private:
    std::mutex opening_;
    std::mutex making_;  ///< of the library's objects
    pid_t pid_ = 0;      ///< whose objects these are
    std::map<std::uint32_t, std::weak_ptr<Opened>> opened_;
};

/// Loads the library, if it is there.
void loadLibdrm() noexcept;

}  // namespace criu::amdgpu
