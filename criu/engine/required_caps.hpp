// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/options/command.hpp"

namespace criu::engine {

/// Throws Error (EPERM) with the names of the capabilities that criu lacks for a command. Call it first, because later
/// failures would have misleading messages.
void requireCommandCaps(options::Command command);

}  // namespace criu::engine
