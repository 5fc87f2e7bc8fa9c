// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::kernel {

/// Throws Error if execvp(3) of `command` fails. Calls execvp() in a child, which ends before the first instruction of
/// the program. `command` must not be empty.
void requireRunnable(const std::vector<std::string>& command);

/// Throws the Error of a program that didn't start, with a hint if the cause is its name, its mode or its interpreter.
/// `program`: name or path that the caller tried. `code`: errno value. `what`: text of the error.
[[noreturn]] void failStart(const std::string& program, int code, std::string what);

}  // namespace criu::kernel
