// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
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

/// What the thread that a ring belongs to (IORING_SETUP_SINGLE_ISSUER) is answered; the kernel answers nobody else. The
/// ring is named by a process and its descriptor. Null: that thread isn't known.
using OwnersAnswers = std::function<const RingAnswers*(HostPid pid, int fd)>;

}  // namespace criu::files
