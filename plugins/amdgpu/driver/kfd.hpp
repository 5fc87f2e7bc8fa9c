// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"

#include "criu/base/ids.hpp"

namespace criu::amdgpu {

/// Pid and sizes of a process' compute state. PROCESS_INFO stops the queues of the process and returns this data.
struct KfdProcess {
    pid_t pid = 0;
    std::uint32_t devices = 0;
    std::uint32_t buffers = 0;
    std::uint32_t objects = 0;
    std::uint64_t privateBytes = 0;
};

/// Compute state of a process, without contents of buffers. Only the driver knows the format of `privateData`.
struct KfdState {
    std::vector<uapi::KfdDevice> devices;
    std::vector<uapi::KfdBuffer> buffers;
    std::uint32_t objects = 0;
    std::vector<std::byte> privateData;
};

/// First minor version of the interface in which a /dev/kfd descriptor may have a private context
/// (AMDKFD_IOC_CREATE_PROCESS).
inline constexpr std::uint32_t kFirstWithContexts = 19;

/// First minor version whose checkpoints contain the state of queues on all dies of a GPU (Linux 6.17). Some stable
/// kernels since August 2025 also save this state, but report an older version.
inline constexpr std::uint32_t kFirstWithAllDies = 18;

inline constexpr std::uint32_t kNoDmabuf = 0xffffffff;

/// Returns true if the buffer has content: it is memory of a GPU or system memory of the driver. Buffers of registers
/// or of the process' own memory have no content.
bool hasContent(const uapi::KfdBuffer& buffer) noexcept;

/// Calls of an open /dev/kfd; the caller owns the descriptor. The driver accepts checkpoint calls only from the tracer
/// of the process.
class Kfd {
public:
    Kfd(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    /// Throws Error if the driver can't checkpoint processes.
    void requireCriu() const;
    /// Returns N of the interface version 1.N.
    [[nodiscard]] std::uint32_t minorVersion() const;
    /// Returns false if a GPU that the calling process may use lacks XNACK. Turns XNACK of the calling process on and
    /// off.
    [[nodiscard]] bool allowsXnack() const;
    /// Returns the version of the driver's private data, which a checkpoint of the calling process has. Returns nothing
    /// if the driver refuses that checkpoint.
    [[nodiscard]] std::optional<std::uint32_t> privateVersion() const;
    /// Stops the process' queues.
    [[nodiscard]] KfdProcess pause() const;
    /// Reads the process' state. The caller must close the DMA-BUF descriptors of the result.
    [[nodiscard]] KfdState checkpoint(const KfdProcess& process) const;
    /// Starts the queues that pause() stopped.
    void unpause() const;
    /// Starts queues that an earlier dump stopped and didn't start again. Returns false if the queues weren't stopped.
    [[nodiscard]] bool unpauseLeftOver() const;
    /// Restores `state` in the calling process. Replaces mmap offsets and DMA-BUF descriptors in `state` with the new
    /// values.
    void restore(KfdState& state) const;
    /// Starts the queues of a restored process. Returns false if the driver doesn't know the process, or if the process
    /// was created without RESTORE.
    [[nodiscard]] bool resume(HostPid pid) const;

private:
    void acquireAddressSpaces(const KfdState& state) const;

    Kernel& kernel_;
    int fd_;
};

}  // namespace criu::amdgpu
