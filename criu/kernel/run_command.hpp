// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/stop_request.hpp"

/// Functions that run external programs to read or write kernel state. The programs run in the namespaces of the
/// calling thread.
namespace criu::kernel {

/// Returns the absolute path of a program; empty if no folder has it. Searches libexec of the
/// bundle, the usual folders of administrators and $PATH.
[[nodiscard]] std::string findProgram(const std::string& name);

/// Runs a program, writes `input` to its standard input, and returns its output. If the program fails, throws Error
/// with the first line of its messages. A request to `stop` kills the program and throws Error. With a null `stop`, the
/// program always completes; needed for a caller that reverts changes.
std::string runProgram(const std::string& program, std::vector<std::string> arguments, std::string_view input,
                       StopRequest* stop = nullptr);

}  // namespace criu::kernel
