// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// Calls that manage the memory of the calling process in the compute driver. GPU ids are user ids, unless a comment
/// says otherwise. All functions throw Error.
class KfdMemory {
public:
    /// `fd`: open /dev/kfd of the process; the caller owns it.
    KfdMemory(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    /// Returns a handle, which consists of a GPU id and a number. The driver gives a new buffer the lowest free number.
    [[nodiscard]] static std::uint64_t handle(GpuId gpu, std::uint32_t number) noexcept {
        return std::uint64_t{gpu} << 32 | number;
    }
    [[nodiscard]] static std::uint32_t numberOf(std::uint64_t handle) noexcept {
        return static_cast<std::uint32_t>(handle);
    }

    /// Exports a buffer as DMA-BUF. Returns an invalid descriptor if the handle is invalid, or if the driver can't
    /// export the buffer. The handle contains the machine's GPU id, not the user id (kfd_ioctl_export_dmabuf() of Linux
    /// 6.18).
    [[nodiscard]] UniqueFd tryExport(std::uint64_t handle) const;
    /// Allocates a page without mapping it. Returns the handle of the page.
    [[nodiscard]] std::uint64_t allocatePage(GpuId gpu, std::uint64_t address) const;
    /// Imports a foreign buffer at a GPU address. Returns the handle of the buffer.
    [[nodiscard]] std::uint64_t import(GpuId gpu, std::uint64_t address, int dmabuf) const;
    /// Frees a buffer, which must be unmapped.
    void free(std::uint64_t handle) const;
    void map(std::uint64_t handle, GpuId gpu) const;
    /// Unmaps a buffer. Returns false if the buffer wasn't mapped for that GPU.
    bool unmap(std::uint64_t handle, GpuId gpu) const;

private:
    Kernel& kernel_;
    int fd_;
};

/// Buffer of a restored process that another process creates, so that this process imports it.
struct KfdImport {
    GpuId gpu = 0;              ///< user id
    GpuId localGpu = 0;         ///< id in this machine
    std::uint64_t address = 0;  ///< address on the GPU
    int made = -1;              ///< DMA-BUF of the duplicate that RESTORE created in this process; the caller owns it
    std::uint64_t object = 0;   ///< number of the shared buffer
};

/// Replaces buffers that RESTORE created by buffers shared with other processes. Keeps handles, addresses and GPUs.
/// Linux creates a new buffer for each entry of the images, even if several entries are the same buffer
/// (criu_restore_bo() of kfd_chardev.c). `gpus`: all GPUs of the process. `fetch` returns a DMA-BUF of an object.
/// Throws Error.
void importBuffers(Kernel& kernel, int kfd, const std::vector<GpuId>& gpus, const std::vector<KfdImport>& imports,
                   const std::function<UniqueFd(std::uint64_t object)>& fetch);

}  // namespace criu::amdgpu
