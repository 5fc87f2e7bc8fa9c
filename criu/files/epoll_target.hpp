// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/eventpoll.hpp"

namespace criu::files {

/// Returns the descriptor number under which a process added a target to an epoll file. Together with the file, it
/// identifies the target (epoll(7)).
[[nodiscard]] inline int numberOfTarget(const EventpollTfdEntry& target) noexcept {
    return static_cast<int>(target.has_old_tfd != 0 ? target.old_tfd : target.tfd);
}

}  // namespace criu::files
