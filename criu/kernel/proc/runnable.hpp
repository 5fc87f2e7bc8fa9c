// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::kernel {

/// Throws Error if execvp(3) of `command` (not empty) would fail now, for whatever reason: it is tried, in a child that
/// doesn't come to run the program's first instruction.
void requireRunnable(const std::vector<std::string>& command);

}  // namespace criu::kernel
