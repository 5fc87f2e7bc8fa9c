// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// GPU id in mmap offsets of /dev/kfd. The ids differ in a process that was restored on other GPUs.
enum class MmapIds {
    Actual,  ///< the machine's id: kfd_mmap() of kfd_chardev.c up to Linux 7.2
    User,    ///< the id that the process uses: Linux 7.3, commit 2c381b75fae8, and AMD's DKMS driver of 2026
};

/// Finds out which id the running driver looks up: no interface version tells. A child process gives one of its GPUs
/// another id by a RESTORE that fails after that, and tries to map doorbells by it. `privateData`: that of any process;
/// RESTORE checks its version first.
[[nodiscard]] MmapIds findMmapIds(Kernel& kernel, const Topology& here, std::span<const std::byte> privateData);

/// True for the flags of buffers that are mapped by /dev/kfd: doorbells and registers.
[[nodiscard]] bool isMappedByKfd(std::uint32_t flags) noexcept;
/// Returns the offset with another GPU id.
[[nodiscard]] std::uint64_t withGpu(std::uint64_t offset, GpuId gpu) noexcept;
/// True if the process uses other ids than the machine.
[[nodiscard]] bool hasOtherIds(std::span<const uapi::KfdDevice> devices) noexcept;

}  // namespace criu::amdgpu
