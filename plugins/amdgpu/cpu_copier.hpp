// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/driver/drm.hpp"

namespace criu::amdgpu {

/// A part of a buffer that the processor reaches by mmap(2) of a render node.
struct MappedContent {
    int fd = -1;               ///< owned by the caller
    std::uint64_t offset = 0;  ///< mmap offset of the buffer's first byte
    std::uint64_t size = 0;
    std::uint64_t start = 0;  ///< position of the part in the buffer, in bytes
};

/// Both copy a part between its mapping and a store, by the processor. They throw Error, also for memory whose access
/// would raise SIGBUS.
void saveMapped(Kernel& kernel, const MappedContent& from, device::ContentStore& to, std::uint64_t position,
                const device::StopCheck& checkStop);
void loadMapped(Kernel& kernel, const MappedContent& into, const device::ContentStore& from, std::uint64_t position,
                const device::StopCheck& checkStop);

/// Moves contents of one GPU's buffers to and from stores by the processor: system memory, and video memory in the
/// processor's window. Needs no engine, but is slow for video memory. For one thread. Throws Error.
class CpuCopier {
public:
    CpuCopier(Kernel& kernel, std::uint32_t renderMinor, device::StopCheck checkStop);

    void save(const device::ContentPiece& piece);
    void load(const device::ContentPiece& piece);

private:
    Kernel& kernel_;
    UniqueFd fd_;
    Drm drm_;
    device::StopCheck checkStop_;
};

}  // namespace criu::amdgpu
