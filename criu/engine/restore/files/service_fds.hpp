// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>

#include <set>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

/// Number of service descriptors that every restore needs, for instance for the log, directories and open images. Files
/// that processes share need additional descriptors.
inline constexpr int kServiceRoom = 64;

/// Service range: descriptor numbers that no restored process uses. criu's descriptors have numbers of this range
/// during a restore, so that all other numbers are free for restored files.
struct ServiceFds {
    int first = 0;
    int last = 0;

    [[nodiscard]] int room() const noexcept { return last - first + 1; }
    /// Moves a descriptor into the range (close-on-exec). Throws Error if the range is full; the caller then keeps
    /// `fd`.
    [[nodiscard]] UniqueFd moveIn(UniqueFd&& fd) const {
        if (fd.get() >= first && fd.get() <= last)
            return std::move(fd);
        UniqueFd moved(sys(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first), "move fd {} into the service range", fd.get()));
        if (moved.get() > last)
            fail("the descriptors {} to {} of the service range, which criu has for itself, are used up", first, last);
        fd.reset();
        return moved;
    }
};

/// Returns the widest range of numbers below `limit` that contains none of `used`.
[[nodiscard]] ServiceFds widestRange(const std::set<int>& used, int limit);

/// Checks a process of a dump. Throws Error if a restore with the limits of this criu would have too few numbers for
/// service descriptors. `used`: descriptors of the process.
void requireServiceRange(const std::set<int>& used);

}  // namespace criu::engine
