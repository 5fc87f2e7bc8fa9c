// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "criu/options/command.hpp"
#include "criu/options/settings.hpp"

namespace criu::options {

/// Command with all options that apply to it.
struct Invocation {
    Command command{};
    model::Options options;
    std::vector<Setting> settings;  ///< settings from which the options were made, in the order of application
    int requestSocket = -1;  ///< inherited descriptor by which requests arrive; only for swrk, -1 for other commands
};

/// Removes the command, for cpuinfo with its action, from the front of `words`, and returns it. Throws Error if the
/// command is missing or unknown.
Command takeCommand(std::vector<std::string>& words);

/// Applies the environment variables CRIU_DEPRECATED and CRIU_FAULT. Throws Error if a value is malformed.
void applyEnvironment(model::Options& options);

/// Stores the words after the command. Throws Error if options don't fit the command or each other.
void validate(Invocation& invocation, std::vector<std::string> words);

}  // namespace criu::options
