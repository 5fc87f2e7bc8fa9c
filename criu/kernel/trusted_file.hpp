// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu::kernel {

/// Throws Error (EPERM) if a user other than root and the user of criu can change an open file or directory. criu
/// checks all files that control its behaviour, such as configuration files and plugins. `path`: name of the file for
/// messages. If criu has privileges that its user lacks (set-user-id or file capabilities, getauxval(AT_SECURE)),
/// trusts only root.
void requireTrusted(int fd, std::string_view path);

}  // namespace criu::kernel
