// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/model/client.hpp"
#include "criu/model/stages.hpp"
#include "criu/options/invocation.hpp"

/// Executes commands for the command line and for clients of the service.
namespace criu::engine {

/// Result of a command that didn't fail.
struct Outcome {
    int status = 0;      ///< exit status
    std::string answer;  ///< text for standard output: findings of the commands check, explain and verify
};

/// Executes a command whose options have passed options::validate(). Enters the work directory and opens the log there.
/// At each stage, notifies `listeners`, then action scripts (--action-script), then device subsystems. Throws Error if
/// the command fails.
Outcome execute(const options::Invocation& invocation, Log& log, StopRequest& stop, device::Subsystems devices,
                std::vector<model::StageListener*> listeners = {}, const model::Client& client = {});

/// Returns the listeners of device subsystems, in the order of the subsystems.
model::StageListeners stageListeners(const device::Subsystems& devices);

}  // namespace criu::engine
