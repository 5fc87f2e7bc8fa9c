// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu::kernel {

/// Throws Error (EPERM) if any user except root and the user of criu can change an open file or directory. Files that
/// control criu, such as configuration and plugins, must pass.
/// A criu with privileges of its file (getauxval(AT_SECURE): set-user-id, file capabilities) trusts root alone: it
/// has privileges that its user lacks. `path` names the file in messages.
void requireTrusted(int fd, std::string_view path);

}  // namespace criu::kernel
