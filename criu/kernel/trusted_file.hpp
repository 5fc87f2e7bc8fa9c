// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu::kernel {

/// Throws Error (EPERM) unless nobody can change an open file or directory but root and the user that criu acts as.
/// What decides over criu, such as configuration and plugins, comes from such files only. A program that was given
/// rights of its file (getauxval(AT_SECURE): set-user-id, file capabilities) trusts root alone, since it acts for its
/// user with rights that the user hasn't got. `path` is what the message calls the file.
void requireTrusted(int fd, std::string_view path);

}  // namespace criu::kernel
