// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/drm.hpp"

namespace criu::amdgpu {

/// What a render file has at an mmap offset.
struct MappedContent {
    int fd = -1;  ///< stays the caller's
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Moves it to and from its place in a store, by the processor and in pieces. Throws Error, also where touching the
/// memory would end the process (SIGBUS).
void saveMapped(Kernel& kernel, const MappedContent& from, device::ContentStore& to, std::uint64_t position,
                const device::StopCheck& checkStop);
void loadMapped(Kernel& kernel, const MappedContent& into, const device::ContentStore& from, std::uint64_t position,
                const device::StopCheck& checkStop);

/// Moves the content of a GPU's buffers to and from stores by the processor, where that can reach them: system memory,
/// and video memory within its window. Needs no engine, but is slow for video memory. For one thread; throws Error.
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
