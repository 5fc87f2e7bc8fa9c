// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"

namespace criu::files {

/// How the kernel refuses requests about a ring of io_uring (io_uring_register(2)) that come with an address from which
/// it can't copy: errno values. Whatever it checks before it looks there tells how the ring was set up.
struct RingAnswers {
    int files = 0;
    int polling = 0;  ///< of network devices
    int memoryRegion = 0;
    int eventFd = 0;
    /// The first group of provided buffers; nothing if there is none, or the kernel doesn't tell (before 6.8).
    std::optional<std::uint32_t> bufferGroup;
};

/// Knows what threads are answered that a ring belongs to (IORING_SETUP_SINGLE_ISSUER); the kernel answers nobody else.
class RingOwners {
public:
    virtual ~RingOwners() = default;
    /// The ring is named by a process and its descriptor. Null: its thread isn't known.
    [[nodiscard]] virtual const RingAnswers* answersTo(HostPid pid, int fd) const = 0;
};

}  // namespace criu::files
