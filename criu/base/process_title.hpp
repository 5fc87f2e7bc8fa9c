// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

/// What ps(1) shows of a process of criu's: which of the several that a dump or restore consists of it is. By libbsd.
namespace criu {

/// Makes room for titles: they take the place of arguments and environment, which are copied. Once, at the beginning of
/// main(), while there is one thread.
void reserveProcessTitle(int argc, char* argv[]);

/// The calling process is shown as "criu: TITLE" from here on. Does nothing unless there is room. Its name (comm), by
/// which it may be looked for, stays.
void setProcessTitle(const std::string& title) noexcept;

}  // namespace criu
