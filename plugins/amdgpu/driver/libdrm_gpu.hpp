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

/// GPUs that criu accesses through libdrm_amdgpu. Loads the library at the first use. All copiers of a GPU share one
/// context, and use its copy engines in turn. Several threads may use one object.
class LibdrmGpus {
public:
    /// Opens a GPU for one thread. `openNode` opens the GPU's render node for reading and writing. This object must
    /// outlive the result. Throws Error if the library isn't installed, or if it can't use the node.
    [[nodiscard]] std::unique_ptr<Gpu> open(std::uint32_t renderMinor, const std::function<UniqueFd()>& openNode);

    class Opened;

private:
    std::mutex opening_;
    std::mutex making_;  ///< locked while objects of the library are created or destroyed
    pid_t pid_ = 0;      ///< process that opened the objects
    std::map<std::uint32_t, std::weak_ptr<Opened>> opened_;
};

/// Loads the library if it is installed.
void loadLibdrm() noexcept;

}  // namespace criu::amdgpu
