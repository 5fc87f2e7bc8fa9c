// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/stop_request.hpp"

/// External programs that read or write kernel state. They run in the namespaces of the calling thread.
namespace criu::kernel {

/// Returns the absolute path of a program, from the usual folders of administrators and $PATH; empty if not found.
[[nodiscard]] std::string findProgram(const std::string& name);

/// Runs a program with `input` and returns its output. Throws Error with the first line of its messages if it fails.
/// A request to `stop` kills the program and throws Error. Callers that revert changes pass none, so that the program
/// completes.
std::string runProgram(const std::string& program, std::vector<std::string> arguments, std::string_view input,
                       StopRequest* stop = nullptr);

}  // namespace criu::kernel
