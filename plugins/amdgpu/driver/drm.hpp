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

/// Maximum number of free handles that a restore fills with one-page buffers: a new buffer gets the lowest free handle.
/// If more handles are free, the restore needs the kernel's call that changes handles.
inline constexpr std::size_t kMostFreeHandles = 4096;

struct BufferNotes {
    std::uint64_t tiling = 0;
    std::uint64_t flags = 0;
    std::vector<std::byte> data;

    [[nodiscard]] bool empty() const noexcept { return tiling == 0 && flags == 0 && data.empty(); }
};

/// Calls of an open render node, which a process or criu has opened; the caller owns the descriptor. The class uses
/// ioctl(2) directly, because libdrm_amdgpu lacks most of the calls. It can't import foreign buffers with given handles
/// and addresses, and lacks calls of Linux 6.18.
class Drm {
public:
    Drm(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    [[nodiscard]] int fd() const noexcept { return fd_; }
    /// Returns the name of the node's driver: "amdgpu" for AMD's GPUs.
    [[nodiscard]] std::string driver() const;
    /// Returns true if the kernel can list the buffers of a file (AMDGPU_GEM_LIST_HANDLES, 6.18).
    [[nodiscard]] bool canList() const;
    /// Returns all buffers for which the file has handles; nullopt if the kernel can't list them.
    [[nodiscard]] std::optional<std::vector<uapi::GemListEntry>> buffers() const;
    /// Returns the mappings of a buffer in the file's GPU address space.
    [[nodiscard]] std::vector<uapi::VmEntry> mappings(std::uint32_t handle) const;
    /// Returns the offset by which mmap(2) maps a buffer; nullopt for a buffer that processors may not access (EPERM).
    [[nodiscard]] std::optional<std::uint64_t> tryMmapOffset(std::uint32_t handle) const;
    [[nodiscard]] std::uint64_t mmapOffset(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t create(std::uint64_t size, std::uint64_t alignment, std::uint64_t domains,
                                       std::uint64_t flags) const;
    void changeHandle(std::uint32_t handle, std::uint32_t wanted) const;
    /// Maps a buffer in the GPU's address space. `at` may lack the bits above the hole, as in the driver's lists.
    void mapVa(std::uint32_t handle, std::uint64_t at, std::uint64_t offset, std::uint64_t size,
               std::uint32_t flags) const;
    [[nodiscard]] UniqueFd exportBuffer(std::uint32_t handle) const;
    /// Exports a buffer as DMA-BUF. Returns an invalid descriptor if the driver refuses this (EPERM).
    [[nodiscard]] UniqueFd tryExport(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t importBuffer(int dmabuf) const;
    void close(std::uint32_t handle) const noexcept;
    /// Returns the metadata of a buffer, for example its tiling. Programs that share the buffer store metadata there.
    [[nodiscard]] BufferNotes notes(std::uint32_t handle) const;
    void setNotes(std::uint32_t handle, const BufferNotes& notes) const;
    /// Returns true if the file has a submission context with this number.
    [[nodiscard]] bool hasContext(std::uint32_t number) const;
    /// Returns true if the file has a synchronization object with this handle.
    [[nodiscard]] bool hasSyncObject(std::uint32_t handle) const;
    /// Returns all submission contexts of the file; nullopt if the kernel can't list them. Call it only if
    /// canListContexts() returned true.
    [[nodiscard]] std::optional<std::vector<uapi::ContextEntry>> contexts() const;
    /// Returns true if the kernel lists contexts. Creates a context in this file and checks that the list contains it.
    /// The file must be criu's own.
    [[nodiscard]] bool canListContexts() const;

private:
    [[nodiscard]] std::optional<std::uint32_t> tryList(std::vector<uapi::GemListEntry>& entries) const;

    Kernel& kernel_;
    int fd_;
};

}  // namespace criu::amdgpu
