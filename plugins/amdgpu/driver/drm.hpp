// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
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

/// Number by which waitSubmission() means the latest submission of a ring.
inline constexpr std::uint64_t kLatestSubmission = ~std::uint64_t{0};

enum class SubmissionState : std::uint8_t {
    Unknown,  ///< the context has no such ring, or the ring no such submission
    Busy,
    Complete,
};

enum class SyncObjectFence : std::uint8_t {
    None,  ///< the object has no fence, so a wait fails
    Pending,
    Signalled,
};

/// Commands of a submission: GPU address and length in bytes.
struct Commands {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
};

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
    void unmapVa(std::uint32_t handle, std::uint64_t at, std::uint64_t size) const noexcept;
    /// Makes a buffer of memory of the calling process. The driver takes the pages at the next submission, so the
    /// memory may still be missing.
    [[nodiscard]] std::uint32_t createUserptr(std::uint64_t address, std::uint64_t size) const;
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
    /// Returns true if a reset of the GPU has made this context useless.
    [[nodiscard]] bool isLostContext(std::uint32_t number) const;
    /// Creates a context and returns its number. A priority above the normal one needs CAP_SYS_NICE.
    [[nodiscard]] std::uint32_t createContext(std::int32_t priority) const;
    void destroyContext(std::uint32_t number) const;
    void setPstate(std::uint32_t context, std::uint32_t flags) const;
    /// Submits commands to a ring. `buffer`: handle of the buffer that contains the commands. Returns the number of the
    /// submission. Waits while too many submissions are in flight (amdgpu_ctx_wait_prev_fence()).
    [[nodiscard]] std::uint64_t submit(std::uint32_t context, std::uint32_t kind, std::uint32_t ring, Commands commands,
                                       std::uint32_t buffer) const;
    /// Waits for a submission, at most until a time; returns immediately for a time in the past. Throws Error if the
    /// submission has failed.
    [[nodiscard]] SubmissionState waitSubmission(std::uint32_t context, std::uint32_t kind, std::uint32_t ring,
                                                 std::uint64_t number,
                                                 std::chrono::steady_clock::time_point until) const;
    /// Returns the point of a synchronization object: 0 if it is no timeline; nullopt if the file lacks the handle.
    [[nodiscard]] std::optional<std::uint64_t> syncObjectPoint(std::uint32_t handle) const;
    [[nodiscard]] SyncObjectFence syncObjectFence(std::uint32_t handle) const;
    [[nodiscard]] std::uint32_t createSyncObject() const;
    void destroySyncObject(std::uint32_t handle) const;
    /// Signals an object, or a point of a timeline if `point` isn't 0.
    void signalSyncObject(std::uint32_t handle, std::uint64_t point) const;
    /// Returns the family of the GPU (AMDGPU_FAMILY_*).
    [[nodiscard]] std::uint32_t family() const;
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
