// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/service/session.hpp"

namespace criu::service {

/// `criu service`: listens at options.address, or at the socket that systemd has passed, and serves each client in a
/// process of its own, which begins with options as they are built in: what configures the service itself isn't meant
/// for its clients. With options.detached it goes on in the background when it is ready, and this process exits.
/// Returns when a stop was asked for; clients that are being served then are served to the end. Throws Error when the
/// service can't be started or go on.
/// In a process that has served a client it returns as well, with what is left to do there.
[[nodiscard]] SessionEnd runDaemon(const SessionContext& surroundings);

}  // namespace criu::service
