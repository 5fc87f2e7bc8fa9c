// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plugins/amdgpu/kernel.hpp"
#include "plugins/amdgpu/topology.hpp"
#include "plugins/amdgpu/uapi.hpp"

namespace criu::amdgpu {

/// Memory of the calling process in the compute driver. GPUs are called by the process' own ids of them (user ids)
/// where it isn't said otherwise. All functions throw Error.
class KfdMemory {
public:
    /// `fd`: the process' /dev/kfd, which stays the caller's.
    KfdMemory(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    /// What a handle of a GPU consists of: the GPU's id, and the lowest number that was free.
    [[nodiscard]] static std::uint64_t handle(GpuId gpu, std::uint32_t number) noexcept {
        return std::uint64_t{gpu} << 32 | number;
    }
    [[nodiscard]] static std::uint32_t numberOf(std::uint64_t handle) noexcept {
        return static_cast<std::uint32_t>(handle);
    }

    /// A DMA-BUF of a buffer; empty if the handle is none, or of what can't be exported. Here the GPU is called by its
    /// id in the machine (kfd_ioctl_export_dmabuf() of Linux 6.18).
    [[nodiscard]] UniqueFd tryExport(std::uint64_t handle) const;
    /// A page that nobody maps. Returns its handle.
    [[nodiscard]] std::uint64_t allocatePage(GpuId gpu, std::uint64_t address) const;
    /// A buffer that others have made, at an address of the GPU. Returns its handle.
    [[nodiscard]] std::uint64_t import(GpuId gpu, std::uint64_t address, int dmabuf) const;
    /// It must be mapped nowhere.
    void free(std::uint64_t handle) const;
    void map(std::uint64_t handle, GpuId gpu) const;
    /// False: it wasn't mapped for that GPU.
    bool unmap(std::uint64_t handle, GpuId gpu) const;

private:
    Kernel& kernel_;
    int fd_;
};

/// A buffer of a restored process that somebody else makes.
struct KfdImport {
    GpuId gpu = 0;              ///< as the process calls it
    GpuId localGpu = 0;         ///< as the machine does
    std::uint64_t address = 0;  ///< of the GPU
    int made = -1;              ///< a DMA-BUF of what RESTORE has made in its place; the caller's
    std::uint64_t object = 0;   ///< whose buffer it is to be
};

/// Puts the buffers of others where RESTORE has made new ones, under the same handles, at the same addresses and for
/// the same GPUs: RESTORE of Linux makes a buffer for each entry, whoever had it (criu_restore_bo() of kfd_chardev.c).
/// `gpus`: all that the process has. `fetch` returns a DMA-BUF of an object. Throws Error.
void importBuffers(Kernel& kernel, int kfd, const std::vector<GpuId>& gpus, const std::vector<KfdImport>& imports,
                   const std::function<UniqueFd(std::uint64_t object)>& fetch);

}  // namespace criu::amdgpu
