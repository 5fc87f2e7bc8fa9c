// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <optional>

namespace criu {

class StopRequest;

/// Waits until poll(2) reports one of `events`, an error or a hangup for a descriptor. The caller finds out about an
/// error by its next call on the descriptor. Returns false after `limit`; nullopt means no limit. Throws Error when
/// `stop` is requested, also if another thread handles the request.
[[nodiscard]] bool waitReady(int fd, short events, StopRequest& stop, std::optional<std::chrono::milliseconds> limit);

}  // namespace criu
