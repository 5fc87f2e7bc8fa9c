// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <vector>

#include "criu/options/settings.hpp"

namespace criu::cli {

/// A parsed command line.
struct Arguments {
    std::vector<options::Setting> settings;  ///< in the order given
    std::vector<std::string> words;          ///< words that aren't options, in order; all words after "--"
};

/// Parses options like getopt_long(3): anywhere among the words, --name=value or --name value, unambiguous prefixes
/// of long names, bundles of short ones. `arguments` lacks the program's name. Throws Error for unknown or ambiguous
/// options, and for missing or extra arguments. Only one thread may call it at a time: getopt_long(3) has global
/// state.
Arguments readArguments(std::span<const std::string> arguments);

}  // namespace criu::cli
