// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/options/command.hpp"

namespace criu::cli {

/// Returns the text of --help. Without `command`, the text describes all options; with it, only the options of this
/// command.
std::string helpText(std::optional<options::Command> command);

}  // namespace criu::cli
