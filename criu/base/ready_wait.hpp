// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <optional>

namespace criu {

class StopRequest;

/// Waits until poll(2) reports one of `events` for a descriptor, or that it is broken or its other side gone: what a
/// call with it does then, that call says. False if that hasn't happened within `limit`; without a value there is no
/// limit. Throws Error as soon as `stop` is requested, also if another thread has taken notice of the request.
[[nodiscard]] bool waitReady(int fd, short events, StopRequest& stop, std::optional<std::chrono::milliseconds> limit);

}  // namespace criu
