// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/driver/drm.hpp"

namespace criu::amdgpu {

/// Part of a buffer that the processor accesses through mmap(2) of a render node.
struct MappedContent {
    int fd = -1;               ///< descriptor of the render node; the caller owns it
    std::uint64_t offset = 0;  ///< mmap offset of the buffer's first byte
    std::uint64_t size = 0;
    std::uint64_t start = 0;  ///< position of the part in the buffer, in bytes
};

/// saveMapped() copies a part from its mapping to a store, and loadMapped() from a store to its mapping. The processor
/// makes the copies. Both throw Error, also for memory whose access would raise SIGBUS.
void saveMapped(Kernel& kernel, const MappedContent& from, device::ContentStore& to, std::uint64_t position,
                const device::StopCheck& checkStop);
void loadMapped(Kernel& kernel, const MappedContent& into, const device::ContentStore& from, std::uint64_t position,
                const device::StopCheck& checkStop);

/// Copier between buffers of one GPU and stores, by the processor. The buffers are in system memory, or in video memory
/// inside the processor's window. Needs no copy engine, but is slow for video memory. Only one thread may use a copier.
/// Throws Error.
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
