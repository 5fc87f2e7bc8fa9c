// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/model/stages.hpp"

namespace criu::engine {

/// The programs of --action-script, run at every stage. They get no arguments but an environment that says what is
/// going on: CRTOOLS_SCRIPT_ACTION, the stage's name; CRTOOLS_IMAGE_DIR, a path to the images directory that is good
/// while criu runs; CRTOOLS_INIT_PID, the root's pid once it is known.
class ActionScripts : public model::StageListener {
public:
    /// `programs` in the order given by the user, searched for in $PATH.
    ActionScripts(std::span<const std::string> programs, StopRequest& stop, Log& log) noexcept
        : programs_(programs), stop_(stop), log_(log) {}

    /// Runs all programs, the last given first, one after the other, whatever they return. Returns their exit statuses
    /// or'ed (128 + signal for one that was killed); 0 without programs. Throws Error when one can't be started, or a
    /// stop is asked for meanwhile (the program is ended then).
    int reached(const model::StageEvent& event) override;

private:
    int runOne(const std::string& program, std::span<char* const> environment);

    std::span<const std::string> programs_;
    StopRequest& stop_;
    Log& log_;
};

}  // namespace criu::engine
