// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/stop_request.hpp"

/// Other programs that know how to read or write a kernel's state. They run in the namespaces of the calling thread.
namespace criu::kernel {

/// Absolute path of a program, looked for in $PATH and the usual folders of administrators; empty if there is none.
[[nodiscard]] std::string findProgram(const std::string& name);

/// Runs a program with `input`; returns its output. Throws Error with the first line of its messages when it fails. A
/// request to `stop` kills the program and throws; whoever undoes something gives none, so that it isn't half done.
std::string runProgram(const std::string& program, std::vector<std::string> arguments, std::string_view input,
                       StopRequest* stop = nullptr);

}  // namespace criu::kernel
