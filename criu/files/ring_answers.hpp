// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"

namespace criu::files {

/// errno values of io_uring_register(2) for requests with an unreadable address. Checks that the kernel makes before it
/// reads the address show how the ring was set up.
struct RingAnswers {
    int files = 0;
    int polling = 0;  ///< polling of network devices
    int memoryRegion = 0;
    int eventFd = 0;
    /// The first group of provided buffers; empty if there is none or the kernel doesn't show it (before Linux 6.8).
    std::optional<std::uint32_t> bufferGroup;
};

/// Answers that ring owners got from their rings (IORING_SETUP_SINGLE_ISSUER). The kernel refuses such requests of
/// other threads.
class RingOwners {
public:
    virtual ~RingOwners() = default;
    /// Returns the answers for a ring, by a process and its descriptor. Null: its owner isn't known.
    [[nodiscard]] virtual const RingAnswers* answersTo(HostPid pid, int fd) const = 0;
};

}  // namespace criu::files
