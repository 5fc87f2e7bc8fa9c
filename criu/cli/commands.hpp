// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/cli/command.hpp"
#include "criu/cli/settings.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/model/options.hpp"

namespace criu::cli {

/// A command line understood: which command, and all options in effect.
struct Invocation {
    Command command{};
    model::Options options;
    std::vector<Setting> settings;
};

/// Takes the command off the front of `words` (with its action, for cpuinfo). Throws Error if there is none or it
/// isn't known.
Command takeCommand(std::vector<std::string>& words);

/// Checks that options fit the command and each other, and hands the words behind the command to whom they belong.
/// Throws Error otherwise.
void settle(Invocation& invocation, std::vector<std::string> words);

/// Runs a command and returns the exit status. Enters the work directory and opens the log there. `devices`: the
/// compiled-in device subsystems.
int execute(const Invocation& invocation, Log& log, StopRequest& stop, device::Subsystems devices);

}  // namespace criu::cli
