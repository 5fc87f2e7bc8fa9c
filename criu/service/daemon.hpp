// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/service/session.hpp"

namespace criu::service {

/// Runs `criu service`. Listens at options.address, or at the socket of systemd. Serves each client in a child process,
/// which starts from built-in options. With options.detached, the caller exits when the service in the background is
/// ready. Returns in the service after a stop request; children complete their work. Returns in each child with its
/// remaining work. Throws Error if the service can't start or continue.
[[nodiscard]] SessionEnd runDaemon(const SessionContext& context);

}  // namespace criu::service
