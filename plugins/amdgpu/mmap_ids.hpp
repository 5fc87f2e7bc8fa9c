// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// Kind of GPU id in mmap offsets of /dev/kfd. The two kinds have different values in a process that was restored on
/// other GPUs.
enum class MmapIds {
    Actual,  ///< the machine's id: kfd_mmap() of kfd_chardev.c up to Linux 7.2
    User,    ///< the id that the process uses: Linux 7.3, commit 2c381b75fae8, and AMD's DKMS driver of 2026
};

/// Finds out which kind of id the running driver expects, because no interface version tells this. A child process
/// calls RESTORE, which gives one of its GPUs another id and then fails. The child then tries to map doorbells by this
/// id. `privateData`: private data of any process, because RESTORE checks its version first.
[[nodiscard]] MmapIds findMmapIds(Kernel& kernel, const Topology& here, std::span<const std::byte> privateData);

/// Returns true for flags of buffers that a process maps through /dev/kfd: doorbells and registers.
[[nodiscard]] bool isMappedByKfd(std::uint32_t flags) noexcept;
/// Returns an mmap offset with its GPU id replaced by `gpu`.
[[nodiscard]] std::uint64_t withGpu(std::uint64_t offset, GpuId gpu) noexcept;
/// Returns true if the process uses GPU ids other than those of the machine.
[[nodiscard]] bool hasOtherIds(std::span<const uapi::KfdDevice> devices) noexcept;

}  // namespace criu::amdgpu
