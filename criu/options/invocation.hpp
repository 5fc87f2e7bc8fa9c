// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "criu/options/command.hpp"
#include "criu/options/settings.hpp"

namespace criu::options {

/// A command with all options in effect.
struct Invocation {
    Command command{};
    model::Options options;
    std::vector<Setting> settings;  ///< source of the options, in order of application
    int requestSocket = -1;         ///< swrk: inherited descriptor for requests
};

/// Removes the command (with its action, for cpuinfo) from the front of `words` and returns it. Throws Error if it
/// is missing or unknown.
Command takeCommand(std::vector<std::string>& words);

/// Applies CRIU_DEPRECATED and CRIU_FAULT of the environment. Throws Error if a value is malformed.
void applyEnvironment(model::Options& options);

/// Checks that options fit the command and each other, and assigns the words after the command. Throws Error
/// otherwise.
void validate(Invocation& invocation, std::vector<std::string> words);

}  // namespace criu::options
