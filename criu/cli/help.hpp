// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/cli/command.hpp"

namespace criu::cli {

/// The text of --help: every option, or those of one command.
std::string helpText(std::optional<Command> command);

}  // namespace criu::cli
