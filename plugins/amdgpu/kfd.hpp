// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/amdgpu/kernel.hpp"
#include "plugins/amdgpu/uapi.hpp"

#include "criu/base/ids.hpp"

namespace criu::amdgpu {

/// How much there is of a process, as the driver says when it has stopped its queues.
struct KfdProcess {
    pid_t pid = 0;
    std::uint32_t devices = 0;
    std::uint32_t buffers = 0;
    std::uint32_t objects = 0;
    std::uint64_t privateBytes = 0;
};

/// Its whole state, contents of buffers apart. `privateData` is the driver's own.
struct KfdState {
    std::vector<uapi::KfdDevice> devices;
    std::vector<uapi::KfdBuffer> buffers;
    std::uint32_t objects = 0;
    std::vector<std::byte> privateData;
};

/// From this minor version of the interface on, a descriptor of /dev/kfd may be made a context of its own
/// (AMDKFD_IOC_CREATE_PROCESS).
inline constexpr std::uint32_t kFirstWithContexts = 19;

/// From this one on (Linux 6.17) a checkpoint has the state of queues on all dies of a GPU. Some stable versions since
/// August 2025 have that, too, without saying so.
inline constexpr std::uint32_t kFirstWithAllDies = 18;

inline constexpr std::uint32_t kNoDmabuf = 0xffffffff;

/// Whether a buffer has content of its own: memory, not registers or the process' own memory.
bool hasContent(const uapi::KfdBuffer& buffer) noexcept;

/// An open /dev/kfd; the descriptor stays the caller's. Checkpoint calls work on a process that this thread traces.
class Kfd {
public:
    Kfd(Kernel& kernel, int fd) noexcept : kernel_(kernel), fd_(fd) {}

    /// Throws Error unless the driver can checkpoint.
    void requireCriu() const;
    /// Of the interface's version 1.N.
    [[nodiscard]] std::uint32_t minorVersion() const;
    /// Stops the process' queues.
    [[nodiscard]] KfdProcess pause() const;
    /// The DMA-BUF descriptors in the result are this process', to be closed by the caller.
    [[nodiscard]] KfdState checkpoint(const KfdProcess& process) const;
    /// Lets queues go on that pause() has stopped.
    void unpause() const;
    /// The same for a process that an earlier dump has left stopped. False: none has.
    [[nodiscard]] bool unpauseLeftOver() const;
    /// In the process that is restored: `state` in, and out with new mmap offsets and DMA-BUF descriptors.
    void restore(KfdState& state) const;
    /// Starts a restored process' queues. False: the driver knows of no such process.
    [[nodiscard]] bool resume(HostPid pid) const;

private:
    Kernel& kernel_;
    int fd_;
};

}  // namespace criu::amdgpu
