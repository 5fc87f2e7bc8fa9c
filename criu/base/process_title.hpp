// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

/// Titles of criu's processes for ps(1), which tell the processes of a dump or restore apart. Uses libbsd.
namespace criu {

/// Makes room for titles: copies the arguments and the environment, whose memory the titles take. main() calls it
/// once, at its beginning, while the process has one thread.
void reserveProcessTitle(int argc, char* argv[]);

/// Shows the calling process as "criu: TITLE". Does nothing without room for titles. Doesn't change comm, because
/// users search for it.
void setProcessTitle(const std::string& title) noexcept;

}  // namespace criu
