// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"

namespace criu::files {

/// Results of io_uring_register(2) with an unreadable address, as errno values. The kernel makes some checks before it
/// reads the address, so that the errno value shows how the program has set up the ring.
struct RingAnswers {
    int files = 0;
    int polling = 0;  ///< result of the request for polling of network devices
    int memoryRegion = 0;
    int eventFd = 0;
    /// Number of the first group of provided buffers. Unset if the ring has none, or if the kernel doesn't show groups
    /// (before Linux 6.8).
    std::optional<std::uint32_t> bufferGroup;
};

/// Kernel thread that submits the requests of a ring (IORING_SETUP_SQPOLL).
struct RingThread {
    std::optional<std::uint32_t> cpu;  ///< only processor on which the thread may run; unset if it may run on several
};

/// Results of queries that ring owners made to their rings (IORING_SETUP_SINGLE_ISSUER), because the kernel refuses
/// queries by other threads.
class RingOwners {
public:
    virtual ~RingOwners() = default;
    /// Returns the results for the ring to which a process' descriptor refers. Returns null if criu doesn't know the
    /// ring owner.
    [[nodiscard]] virtual const RingAnswers* answersTo(HostPid pid, int fd) const = 0;
    /// Returns the kernel thread of the ring to which a process' descriptor refers. Returns null if the ring has none,
    /// or if the process hasn't mapped the ring.
    [[nodiscard]] virtual const RingThread* threadOf(HostPid pid, int fd) const = 0;
};

}  // namespace criu::files
