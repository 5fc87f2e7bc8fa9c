// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace criu::amdgpu {

/// The unit that the driver measures buffers and addresses of the GPU in, whatever the pages of the processor are
/// (AMDGPU_GPU_PAGE_SIZE of Linux).
inline constexpr std::uint64_t kGpuPageSize = 4096;

/// A GPU whose copy engine is used: what the copier asks of a driver, in operations, so that libdrm_amdgpu stands
/// behind them or, in unit tests, something without a driver. For one thread. All throw Error with the driver's errno
/// value. Whatever an object of it hands out is destroyed before that.
class Gpu {
public:
    /// A handle of a buffer that lies in the address space of the GPU, for the life of this object. What the GPU was
    /// told to do with it must have ended before that.
    class Buffer {
    public:
        virtual ~Buffer() = default;
        /// Bytes, a multiple of the GPU's pages.
        [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
        /// Where the GPU sees it.
        [[nodiscard]] virtual std::uint64_t address() const noexcept = 0;
        /// Where this process sees it; empty for those that were imported.
        [[nodiscard]] virtual std::span<std::byte> memory() const noexcept = 0;
    };
    /// Buffers that commands touch: the driver sees to it that they are where the GPU reaches them.
    class BufferList {
    public:
        virtual ~BufferList() = default;
    };

    virtual ~Gpu() = default;

    /// AMDGPU_FAMILY_…
    [[nodiscard]] virtual std::uint32_t family() const = 0;
    /// A new buffer in the machine's memory.
    virtual std::unique_ptr<Buffer> allocate(std::uint64_t size) = 0;
    /// A part of a buffer that others have made, from `start` on; both are multiples of the GPU's pages. The descriptor
    /// stays the caller's.
    virtual std::unique_ptr<Buffer> importBuffer(int dmabuf, std::uint64_t start, std::uint64_t size) = 0;
    virtual std::unique_ptr<BufferList> list(const std::vector<const Buffer*>& buffers) = 0;
    /// Gives the copy engine the commands that lie at an address of the GPU. Returns the number of their fence.
    virtual std::uint64_t submit(std::uint64_t address, std::uint64_t bytes, const BufferList& buffers) = 0;
    /// Waits for a fence; false if it hasn't been reached by `deadline` (nanoseconds of CLOCK_MONOTONIC).
    virtual bool wait(std::uint64_t fence, std::uint64_t deadline) = 0;
};

}  // namespace criu::amdgpu
