// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"

namespace criu::engine {

/// Points of a dump or restore at which the user's programs are run. In their order:
/// dump     PreDump, NetworkLock, PostDump, NetworkUnlock (when the tree goes on, also after a failure);
/// restore  PreRestore, PostRestore, NetworkUnlock, PreResume, PostResume.
/// Nobody runs the others yet.
enum class Stage : std::uint8_t {
    PreStream,
    PreDump,
    PostDump,
    PreRestore,
    PostRestore,
    NetworkLock,
    NetworkUnlock,
    SetupNamespaces,
    PostSetupNamespaces,
    PostResume,
    PreResume,
    OrphanPtsMaster,
    StatusReady,
    QueryExtFiles,
};

/// As programs and clients know it, e.g. "post-dump".
std::string_view stageName(Stage stage) noexcept;

/// The programs of --action-script. They get no arguments but an environment that says what is going on:
/// CRTOOLS_SCRIPT_ACTION, the stage's name; CRTOOLS_IMAGE_DIR, a path to the images directory that is good while criu
/// runs; CRTOOLS_INIT_PID, the root's pid once it is known.
class ActionScripts {
public:
    /// `programs` in the order given by the user, searched for in $PATH. The descriptor of the images directory must
    /// outlive this.
    ActionScripts(std::span<const std::string> programs, int imagesDir, StopRequest& stop, Log& log) noexcept
        : programs_(programs), imagesDir_(imagesDir), stop_(stop), log_(log) {}

    void setRootPid(pid_t pid) noexcept { rootPid_ = pid; }

    /// Runs all programs, the last given first, one after the other, whatever they return. Returns their exit statuses
    /// or'ed (128 + signal for one that was killed); 0 without programs. Throws Error when one can't be started, or a
    /// stop is asked for meanwhile (the program is ended then).
    int run(Stage stage);

    /// Same, where failure of a program is failure of the whole: throws Error for a status other than 0.
    void require(Stage stage);

private:
    int runOne(const std::string& program, std::span<char* const> environment);

    std::span<const std::string> programs_;
    int imagesDir_;
    StopRequest& stop_;
    Log& log_;
    pid_t rootPid_ = 0;
};

}  // namespace criu::engine
