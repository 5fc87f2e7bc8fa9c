// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <vector>

#include "criu/options/settings.hpp"

namespace criu::cli {

/// A command line taken apart, nothing applied yet.
struct Arguments {
    std::vector<options::Setting> settings;  ///< in the order given
    std::vector<std::string> words;          ///< what is not an option, in order; all behind "--" are words
};

/// Reads options as getopt_long(3) does: anywhere among the words, --name=value or --name value, long names cut
/// short while they stay unambiguous, short ones in bundles. `arguments` doesn't hold the program's name. Throws
/// Error for unknown or ambiguous options and for arguments missing or too many. Not to be called by two threads at
/// once, as getopt_long has a state of its own.
Arguments readArguments(std::span<const std::string> arguments);

}  // namespace criu::cli
