// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <optional>

namespace criu {

class StopRequest;

/// Waits until poll(2) reports one of `events`, an error or a hangup for a descriptor. The caller's next call on the
/// descriptor then reports such an error. Returns false after `limit`; no value means no limit. Throws Error when
/// `stop` is requested, also if another thread handles the request.
[[nodiscard]] bool waitReady(int fd, short events, StopRequest& stop, std::optional<std::chrono::milliseconds> limit);

}  // namespace criu
