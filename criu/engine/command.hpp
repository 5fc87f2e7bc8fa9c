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

/// Execution of one command, for the command line and for clients of the service.
namespace criu::engine {

/// Result of a command that didn't fail.
struct Outcome {
    int status = 0;      ///< exit status
    std::string answer;  ///< text for standard output: findings of check, explain and verify
};

/// Executes a command that has passed options::validate(). Enters the work directory and opens the log there. Notifies
/// of stages in this order: `listeners`, action scripts (--action-script), device subsystems. `devices` are the
/// compiled-in subsystems; execute() adds plugins to them. A client that isn't the owner of criu must pass a descriptor
/// of its images directory. options::requireAllowed() says which options such a client may give. Throws Error if the
/// command failed.
Outcome execute(const options::Invocation& invocation, Log& log, StopRequest& stop, device::Subsystems devices,
                std::vector<model::StageListener*> listeners = {}, const model::Client& client = {});

/// Returns the listeners of device subsystems, in the order of the subsystems.
model::StageListeners stageListeners(const device::Subsystems& devices);

}  // namespace criu::engine
