// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/options/command.hpp"

namespace criu::engine {

/// Throws Error (EPERM) that names the capabilities that criu lacks for a command. Called first, because later failures
/// would have misleading messages.
void requireCommandCaps(options::Command command);

}  // namespace criu::engine
