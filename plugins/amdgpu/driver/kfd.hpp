// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"

#include "criu/base/ids.hpp"

namespace criu::amdgpu {

/// Sizes of a process' compute state. PROCESS_INFO returns them when it has stopped the queues.
struct KfdProcess {
    pid_t pid = 0;
    std::uint32_t devices = 0;
    std::uint32_t buffers = 0;
    std::uint32_t objects = 0;
    std::uint64_t privateBytes = 0;
};

/// Compute state of a process, without contents of buffers. The format of `privateData` is the driver's own.
struct KfdState {
    std::vector<uapi::KfdDevice> devices;
    std::vector<uapi::KfdBuffer> buffers;
    std::uint32_t objects = 0;
    std::vector<std::byte> privateData;
};

/// First minor interface version with a private context for a /dev/kfd descriptor (AMDKFD_IOC_CREATE_PROCESS).
inline constexpr std::uint32_t kFirstWithContexts = 19;

/// First minor version whose checkpoints have the state of queues on all dies of a GPU (Linux 6.17). Some stable
/// kernels since August 2025 save it, too, but report an older version.
inline constexpr std::uint32_t kFirstWithAllDies = 18;

inline constexpr std::uint32_t kNoDmabuf = 0xffffffff;

/// True if the buffer has content: memory, not registers or the process' memory.
bool hasContent(const uapi::KfdBuffer& buffer) noexcept;

/// An open /dev/kfd; the caller owns the descriptor. The caller of checkpoint functions must be the process' tracer.
class Kfd {
public:
    Kfd(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    /// Throws Error unless the driver can checkpoint.
    void requireCriu() const;
    /// Returns N of the interface version 1.N.
    [[nodiscard]] std::uint32_t minorVersion() const;
    /// Stops the process' queues.
    [[nodiscard]] KfdProcess pause() const;
    /// Reads the process' state. The caller must close the DMA-BUF descriptors of the result.
    [[nodiscard]] KfdState checkpoint(const KfdProcess& process) const;
    /// Starts the queues that pause() has stopped.
    void unpause() const;
    /// Starts queues that an earlier dump has left stopped. False if the queues weren't stopped.
    [[nodiscard]] bool unpauseLeftOver() const;
    /// Restores `state` in the restored process, and sets new mmap offsets and DMA-BUF descriptors in it.
    void restore(KfdState& state) const;
    /// Starts a restored process' queues. False if the driver doesn't know the process, or didn't RESTORE it.
    [[nodiscard]] bool resume(HostPid pid) const;

private:
    void acquireAddressSpaces(const KfdState& state) const;

    Kernel& kernel_;
    int fd_;
};

}  // namespace criu::amdgpu
