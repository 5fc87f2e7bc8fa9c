// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/options/command.hpp"

namespace criu::engine {

/// Throws Error (EPERM) that names the capabilities that criu lacks for a command, before anything else fails of it
/// with a message about something else.
void requireCommandCaps(options::Command command);

}  // namespace criu::engine
