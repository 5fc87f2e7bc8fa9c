// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

/// Functions for the titles of criu's processes in ps(1), so that a user can distinguish the processes of a dump or
/// restore. They use libbsd.
namespace criu {

/// Reserves memory for titles. Copies the arguments and the environment, because titles overwrite their memory. main()
/// calls it once at its beginning, while the process has one thread.
void reserveProcessTitle(int argc, char* argv[]);

/// Sets the title of the calling process to "criu: TITLE". Does nothing if no memory is reserved. Doesn't change the
/// file comm, because users search for the name criu.
void setProcessTitle(const std::string& title) noexcept;

}  // namespace criu
