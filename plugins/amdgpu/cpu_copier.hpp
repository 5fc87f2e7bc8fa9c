// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/device/content.hpp"
#include "plugins/amdgpu/drm.hpp"

namespace criu::amdgpu {

/// Moves content of a buffer between a file and what the render file `fd` has at the mmap offset `at`, by the processor
/// and in pieces. Throws Error, also where touching the memory would end the process (SIGBUS).
void saveMapped(Kernel& kernel, int fd, std::uint64_t at, std::uint64_t size, int file, std::uint64_t fileOffset,
                const device::StopCheck& checkStop);
void loadMapped(Kernel& kernel, int fd, std::uint64_t at, std::uint64_t size, int file, std::uint64_t fileOffset,
                const device::StopCheck& checkStop);

/// Moves the content of a GPU's buffers to and from files by the processor, where that can reach them: system memory,
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
