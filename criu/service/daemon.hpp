// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/service/session.hpp"

namespace criu::service {

/// Runs `criu service`: listens at options.address, or at the socket of systemd, and serves each client in a child
/// process. A child begins with built-in options, because the options of the service aren't for its clients.
/// With options.detached, the service continues in the background, and this process exits when the service is ready.
/// Returns after a stop request; children complete their work. Throws Error if the service can't start or continue.
/// Also returns in a child that has served a client, with the work that remains for the child.
[[nodiscard]] SessionEnd runDaemon(const SessionContext& context);

}  // namespace criu::service
