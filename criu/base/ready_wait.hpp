// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace criu {

class StopRequest;

/// Limits of a wait for another process: a stop request, and a duration; nullopt means no maximum duration.
struct WaitLimit {
    std::reference_wrapper<StopRequest> stop;
    std::optional<std::chrono::milliseconds> duration;
};

/// Waits until poll(2) reports one of `events`, an error or a hangup for a descriptor. The caller finds out about an
/// error by its next call on the descriptor. Returns false after `limit`; nullopt means no limit. Throws Error when
/// `stop` is requested, also if another thread handles the request.
[[nodiscard]] bool waitReady(int fd, short events, StopRequest& stop, std::optional<std::chrono::milliseconds> limit);
[[nodiscard]] inline bool waitReady(int fd, short events, const WaitLimit& limit) {
    return waitReady(fd, events, limit.stop, limit.duration);
}

/// Waits for a time. Throws Error when `stop` is requested.
inline void pauseFor(std::chrono::milliseconds time, StopRequest& stop) {
    (void)waitReady(-1, 0, stop, time);  // poll(2) ignores the descriptor -1
}

}  // namespace criu
