// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::kernel {

/// Throws Error if execvp(3) of `command` (not empty) fails. Tries it in a child that ends before the program's first
/// instruction.
void requireRunnable(const std::vector<std::string>& command);

}  // namespace criu::kernel
