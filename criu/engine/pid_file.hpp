// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <string>

namespace criu::engine {

/// Writes `pid` in decimal, without a newline, to a file made for it (mode 0600). Throws Error when the file exists
/// already or can't be written; then no file of ours is left.
void writePidFile(const std::string& path, pid_t pid);

}  // namespace criu::engine
