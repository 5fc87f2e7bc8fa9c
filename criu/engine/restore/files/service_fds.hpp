// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// A range of descriptor numbers that no restored process uses: criu's own descriptors live here while processes are
/// built, so that every other number is free for restored files.
struct ServiceFds {
    int first = 0;
    int last = 0;

    /// Moves a descriptor into the range (close-on-exec). Throws Error when that is full.
    [[nodiscard]] UniqueFd moveIn(UniqueFd fd) const {
        if (fd.get() >= first && fd.get() <= last)
            return fd;
        UniqueFd moved(sys(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first), "move fd {} into the service range", fd.get()));
        if (moved.get() > last)
            fail("the descriptors {} to {} of the service range, which criu has for itself, are used up", first, last);
        return moved;
    }
};

}  // namespace criu::engine
