// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>

#include <set>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// Number of service descriptors that every restore needs: the log, directories, open images. Descriptions that
/// processes share come on top.
inline constexpr int kServiceRoom = 64;

/// Range of descriptor numbers that no restored process uses. It holds criu's descriptors while processes are built, so
/// all other numbers are free for restored files.
struct ServiceFds {
    int first = 0;
    int last = 0;

    [[nodiscard]] int room() const noexcept { return last - first + 1; }
    /// Moves a descriptor into the range (close-on-exec). Throws Error if the range is full.
    [[nodiscard]] UniqueFd moveIn(UniqueFd fd) const {
        if (fd.get() >= first && fd.get() <= last)
            return fd;
        UniqueFd moved(sys(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first), "move fd {} into the service range", fd.get()));
        if (moved.get() > last)
            fail("the descriptors {} to {} of the service range, which criu has for itself, are used up", first, last);
        return moved;
    }
};

/// Returns the widest range of numbers below `limit` that are not `used`.
[[nodiscard]] ServiceFds widestRange(const std::set<int>& used, int limit);

/// Throws Error, in a dump, if a restore with the limits of this process would have no room for service descriptors.
void requireServiceRange(const std::set<int>& used);

}  // namespace criu::engine
