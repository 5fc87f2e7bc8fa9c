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

/// The one way in which a command is carried out, whoever asks for it: the command line or a client of the service.
namespace criu::engine {

/// What came of a command that didn't fail.
struct Outcome {
    int status = 0;      ///< exit status
    std::string answer;  ///< text for standard output: what check has found
};

/// Carries out a command that has passed options::validate(). Enters the work directory, opens the log there, and tells
/// of stages: `listeners` first, in their order, then the user's programs (--action-script), then device subsystems.
/// `devices`: the compiled-in subsystems; plugins are added to them. `client`: for whom; a client that isn't criu's
/// owner has to bring a descriptor of its images directory, and may not give options that aren't for such (see
/// options::requireAllowed()). Throws Error when the command failed.
Outcome execute(const options::Invocation& invocation, Log& log, StopRequest& stop, device::Subsystems devices,
                std::vector<model::StageListener*> listeners = {}, const model::Client& client = {});

/// The listeners among device subsystems, in their order.
model::StageListeners stageListeners(const device::Subsystems& devices);

}  // namespace criu::engine
