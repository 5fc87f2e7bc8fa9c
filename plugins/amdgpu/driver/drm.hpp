// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"

namespace criu::amdgpu {

/// Maximum number of free handles below others. If the kernel can't change handles, a restore fills each with a
/// one-page buffer.
inline constexpr std::size_t kMostFreeHandles = 4096;

struct BufferNotes {
    std::uint64_t tiling = 0;
    std::uint64_t flags = 0;
    std::vector<std::byte> data;

    [[nodiscard]] bool empty() const noexcept { return tiling == 0 && flags == 0 && data.empty(); }
};

/// An open render node of a process or for its buffers; the caller owns the descriptor. Uses ioctls, since
/// libdrm_amdgpu lacks most of them: foreign buffers with given handles and addresses, and calls of Linux 6.18.
class Drm {
public:
    Drm(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    [[nodiscard]] int fd() const noexcept { return fd_; }
    /// Returns the driver's name, "amdgpu" for this driver's nodes.
    [[nodiscard]] std::string driver() const;
    /// True if the kernel can list the buffers of a file (AMDGPU_GEM_LIST_HANDLES, 6.18).
    [[nodiscard]] bool canList() const;
    /// Returns all buffers with handles of the file; nothing if the kernel can't list them.
    [[nodiscard]] std::optional<std::vector<uapi::GemListEntry>> buffers() const;
    /// Returns a buffer's mappings in the file's GPU address space.
    [[nodiscard]] std::vector<uapi::VmEntry> mappings(std::uint32_t handle) const;
    /// Returns the offset for mmap(2) of a buffer; nothing for a buffer that processors may not access (EPERM).
    [[nodiscard]] std::optional<std::uint64_t> tryMmapOffset(std::uint32_t handle) const;
    [[nodiscard]] std::uint64_t mmapOffset(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t create(std::uint64_t size, std::uint64_t alignment, std::uint64_t domains,
                                       std::uint64_t flags) const;
    void changeHandle(std::uint32_t handle, std::uint32_t wanted) const;
    /// Maps a buffer. The address may lack the bits above the hole, as in the driver's lists.
    void mapVa(std::uint32_t handle, std::uint64_t at, std::uint64_t offset, std::uint64_t size,
               std::uint32_t flags) const;
    [[nodiscard]] UniqueFd exportBuffer(std::uint32_t handle) const;
    /// Returns an empty descriptor for a buffer that can't be exported (EPERM).
    [[nodiscard]] UniqueFd tryExport(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t importBuffer(int dmabuf) const;
    void close(std::uint32_t handle) const noexcept;
    /// Returns the metadata that programs share by a buffer, for example its tiling.
    [[nodiscard]] BufferNotes notes(std::uint32_t handle) const;
    void setNotes(std::uint32_t handle, const BufferNotes& notes) const;
    /// True if the file has a submission context with this number.
    [[nodiscard]] bool hasContext(std::uint32_t number) const;
    /// Returns all submission contexts of the file; nothing if the kernel can't list them. Only after
    /// canListContexts().
    [[nodiscard]] std::optional<std::vector<uapi::ContextEntry>> contexts() const;
    /// True if the kernel lists contexts. Creates a context in this file, which must be criu's own, and compares.
    [[nodiscard]] bool canListContexts() const;

private:
    [[nodiscard]] std::optional<std::uint32_t> tryList(std::vector<uapi::GemListEntry>& entries) const;

    Kernel& kernel_;
    int fd_;
};

}  // namespace criu::amdgpu
