// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/options/command.hpp"

namespace criu::cli {

/// The text of --help: every option, or those of one command.
std::string helpText(std::optional<options::Command> command);

}  // namespace criu::cli
