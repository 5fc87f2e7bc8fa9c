// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/options/command.hpp"

namespace criu::cli {

/// Returns the text of --help. Without `command`, the text describes all options; with it, only the options of this
/// command.
std::string helpText(std::optional<options::Command> command);

/// Returns the text of --list-options, which shell completions read. Without `command`, each line is the name of a
/// command. With it, each line describes an option: name, letter, "no" if --no-NAME exists, place of the argument
/// ("apart", "attached" or nothing), name of the argument, help. The byte 0x1f separates these fields.
std::string optionList(std::optional<options::Command> command);

}  // namespace criu::cli
