// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::kernel {

/// Throws Error if execvp(3) of `command` fails. Calls execvp() in a child, which ends before the first instruction of
/// the program. `command` must not be empty.
void requireRunnable(const std::vector<std::string>& command);

}  // namespace criu::kernel
