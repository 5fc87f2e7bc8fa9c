// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/model/stages.hpp"

namespace criu::engine {

/// Runs the programs of --action-script at every stage. The programs get no arguments, only an environment:
/// - CRTOOLS_SCRIPT_ACTION: name of the stage
/// - CRTOOLS_IMAGE_DIR: path of the images directory; valid until criu ends
/// - CRTOOLS_INIT_PID: pid of the root, once criu knows it
/// - CRTOOLS_SCRIPT_STATUS: bitwise OR of the exit statuses of programs that have run before at this stage; not in CRIU
class ActionScripts : public model::StageListener {
public:
    /// `programs` are in the order of the command line. criu searches for them in $PATH. `limit`: time that each
    /// program may take before the tree runs; nullopt means no limit.
    ActionScripts(std::span<const std::string> programs, StopRequest& stop, Log& log,
                  std::optional<std::chrono::seconds> limit = std::nullopt) noexcept
        : programs_(programs), stop_(stop), log_(log), limit_(limit) {}

    /// Runs all programs one after the other, from the last to the first. Runs the remaining programs even if one
    /// fails. Returns the bitwise OR of all exit statuses (128 + signal for a killed program); 0 without programs.
    /// Throws Error if a program can't be started. After `limit` or a stop request, ends the running program and throws
    /// Error.
    int reached(const model::StageEvent& event) override;
    [[nodiscard]] bool mayFreeze() const noexcept override { return !programs_.empty(); }

private:
    int runOne(const std::string& program, std::span<char* const> environment,
               std::optional<std::chrono::seconds> limit);

    std::span<const std::string> programs_;
    StopRequest& stop_;
    Log& log_;
    std::optional<std::chrono::seconds> limit_;
};

}  // namespace criu::engine
