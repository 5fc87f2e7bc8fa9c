// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/model/options.hpp"
#include "criu/options/command.hpp"
#include "criu/options/settings.hpp"

namespace criu::options {

/// What is to be done: a command with all options in effect, whoever gave them.
struct Invocation {
    Command command{};
    model::Options options;
    std::vector<Setting> settings;  ///< what the options come from, in the order in which it was applied
    int requestSocket = -1;         ///< swrk: the inherited descriptor that requests come by
};

/// Takes the command off the front of `words` (with its action, for cpuinfo). Throws Error if there is none or it
/// isn't known.
Command takeCommand(std::vector<std::string>& words);

/// Stores what variables of the environment say: CRIU_DEPRECATED and CRIU_FAULT. Throws Error if it is malformed.
void applyEnvironment(model::Options& options);

/// Checks that options fit the command and each other, and hands the words behind the command to whom they belong.
/// Throws Error otherwise.
void validate(Invocation& invocation, std::vector<std::string> words);

}  // namespace criu::options
