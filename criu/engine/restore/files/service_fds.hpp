// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>

#include <set>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// Room for the log, directories, images being read and the like, beside descriptions that processes share: no restore
/// can do with less.
inline constexpr int kServiceRoom = 64;

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

/// The widest range of numbers below `limit` that are not `used`.
[[nodiscard]] ServiceFds widestRange(const std::set<int>& used, int limit);

/// For a dump. Throws Error if a restore on this machine, with the limits of this process, couldn't have such a range.
void requireServiceRange(const std::set<int>& used);

}  // namespace criu::engine
