// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/options/command.hpp"

namespace criu::cli {

/// Returns the text of --help, for all options or for those of one command.
std::string helpText(std::optional<options::Command> command);

}  // namespace criu::cli
