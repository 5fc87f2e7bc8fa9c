// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/open_fd.hpp"

namespace criu::files {

std::string OpenFd::describe() const {
    if (inFlight)
        return fmt::format("{} in flight", link);
    if (fd < 0)
        return fmt::format("{} of pid {}", link, pid);
    return fmt::format("fd {} of pid {} ({})", fd, pid, link);
}

}  // namespace criu::files
