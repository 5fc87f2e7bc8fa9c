// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace criu::amdgpu {

/// Unit of GPU buffers and addresses in bytes. It doesn't depend on the processor's page size (AMDGPU_GPU_PAGE_SIZE of
/// Linux).
inline constexpr std::uint64_t kGpuPageSize = 4096;

/// GPU whose copy engine criu uses. libdrm_gpu implements this interface; unit tests replace it. Only one thread may
/// use an object. All functions throw Error with the driver's errno. Objects that a GPU returns must be destroyed
/// before the GPU object.
class Gpu {
public:
    /// Handle of a buffer, which is mapped in the GPU's address space while this object exists. The object may be
    /// destroyed only when all commands that use it have ended.
    class Buffer {
    public:
        virtual ~Buffer() = default;
        /// Returns the size in bytes, a multiple of kGpuPageSize.
        [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
        /// Returns the GPU address.
        [[nodiscard]] virtual std::uint64_t address() const noexcept = 0;
        /// Returns the buffer's mapping in this process; empty for an imported buffer.
        [[nodiscard]] virtual std::span<std::byte> memory() const noexcept = 0;
    };
    /// Buffers that commands use. The driver makes exactly these buffers accessible to the GPU.
    class BufferList {
    public:
        virtual ~BufferList() = default;
    };

    virtual ~Gpu() = default;

    /// Returns the GPU's generation, AMDGPU_FAMILY_… of amdgpu_drm.h.
    [[nodiscard]] virtual std::uint32_t family() const = 0;
    /// Creates a buffer in system memory.
    virtual std::unique_ptr<Buffer> allocate(std::uint64_t size) = 0;
    /// Imports a part of a foreign buffer. `start` and `size`: position and size of the part, multiples of the GPU's
    /// page size. The caller owns the descriptor.
    virtual std::unique_ptr<Buffer> importBuffer(int dmabuf, std::uint64_t start, std::uint64_t size) = 0;
    virtual std::unique_ptr<BufferList> list(const std::vector<const Buffer*>& buffers) = 0;
    /// Submits commands at a GPU address to the copy engine. Returns the number of their fence, which the GPU reaches
    /// when it has executed them.
    virtual std::uint64_t submit(std::uint64_t address, std::uint64_t bytes, const BufferList& buffers) = 0;
    /// Waits for a fence. Returns false if the GPU doesn't reach it by `deadline` (nanoseconds of CLOCK_MONOTONIC).
    virtual bool wait(std::uint64_t fence, std::uint64_t deadline) = 0;
};

}  // namespace criu::amdgpu
