// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/amdgpu/kernel.hpp"
#include "plugins/amdgpu/uapi.hpp"

namespace criu::amdgpu {

/// So many handles below others may be free: a restore takes them by buffers of a page each meanwhile, if the kernel
/// can't change a handle.
inline constexpr std::size_t kMostFreeHandles = 4096;

struct BufferNotes {
    std::uint64_t tiling = 0;
    std::uint64_t flags = 0;
    std::vector<std::byte> data;

    [[nodiscard]] bool empty() const noexcept { return tiling == 0 && flags == 0 && data.empty(); }
};

/// An open render node of a process, or for its buffers; the descriptor stays the caller's. By ioctls, since
/// libdrm_amdgpu has no words for most of it: buffers of a file that others opened, with handles and addresses that
/// were given before, and calls of Linux 6.18.
class Drm {
public:
    Drm(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    [[nodiscard]] int fd() const noexcept { return fd_; }
    /// "amdgpu" for nodes of this driver.
    [[nodiscard]] std::string driver() const;
    /// Whether the kernel can list the buffers of a file (AMDGPU_GEM_LIST_HANDLES, 6.18).
    [[nodiscard]] bool canList() const;
    /// All buffers that the file has handles of; nothing if the kernel can't list them.
    [[nodiscard]] std::optional<std::vector<uapi::GemListEntry>> buffers() const;
    /// Where the file's GPU address space has a buffer.
    [[nodiscard]] std::vector<uapi::VmEntry> mappings(std::uint32_t handle) const;
    /// Nothing for a buffer that processors may not touch (EPERM).
    [[nodiscard]] std::optional<std::uint64_t> tryMmapOffset(std::uint32_t handle) const;
    [[nodiscard]] std::uint64_t mmapOffset(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t create(std::uint64_t size, std::uint64_t alignment, std::uint64_t domains,
                                       std::uint64_t flags) const;
    void changeHandle(std::uint32_t handle, std::uint32_t wanted) const;
    /// The address may be as the driver lists it: without the bits above the hole.
    void mapVa(std::uint32_t handle, std::uint64_t at, std::uint64_t offset, std::uint64_t size,
               std::uint32_t flags) const;
    [[nodiscard]] UniqueFd exportBuffer(std::uint32_t handle) const;
    /// Empty for a buffer that can't be exported (EPERM).
    [[nodiscard]] UniqueFd tryExport(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t importBuffer(int dmabuf) const;
    void close(std::uint32_t handle) const noexcept;
    /// What programs have noted of a buffer for each other: how it is tiled, and whatever else.
    [[nodiscard]] BufferNotes notes(std::uint32_t handle) const;
    void setNotes(std::uint32_t handle, const BufferNotes& notes) const;
    /// Whether the file has a context for submissions of this number.
    [[nodiscard]] bool hasContext(std::uint32_t number) const;

private:
    [[nodiscard]] std::optional<std::uint32_t> tryList(std::vector<uapi::GemListEntry>& entries) const;

    Kernel& kernel_;
    int fd_;
};

}  // namespace criu::amdgpu
