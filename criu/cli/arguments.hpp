// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <vector>

#include "criu/options/settings.hpp"

namespace criu::cli {

/// Parsed command line.
struct Arguments {
    std::vector<options::Setting> settings;  ///< options, in the order of the command line
    /// Words that aren't options, in the order of the command line; includes all words after "--".
    std::vector<std::string> words;
};

/// Parses the command line by getopt_long(3). Options may be anywhere among the words, long options may be abbreviated,
/// and short options may be bundled. Throws Error for unknown or ambiguous options, and for missing or extra arguments.
/// Only one thread may call this at a time, because getopt_long(3) has global state. `arguments`: all words after the
/// name of the program.
Arguments readArguments(std::span<const std::string> arguments);

}  // namespace criu::cli
