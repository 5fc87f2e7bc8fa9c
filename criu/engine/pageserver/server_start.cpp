// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/pageserver/server_start.hpp"

#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/process_title.hpp"
#include "criu/engine/engine.hpp"
#include "criu/kernel/daemon_process.hpp"
#include "criu/kernel/names/pid_file.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

void announceReady(Run& run) {
    model::requireConsent(Stage::StatusReady, run.listeners.notify(Stage::StatusReady));
    writeReady(run.options.statusFd);
}

void writeReady(int statusFd) {
    if (statusFd < 0)
        return;
    const UniqueFd status(statusFd);
    const char zero = 0;
    sys(::write(status.get(), &zero, 1), "write to --status-fd {}", status.get());
}

bool daemonize(const Run& run, const char* title) {
    const pid_t daemon = sys(::fork(), "create the daemon");
    if (daemon != 0) {
        if (run.options.pidFile)
            PidFile(*run.options.pidFile, HostPid(daemon)).commit();
        return true;
    }
    ::setsid();
    closeStandardStreams();
    setProcessTitle(title);
    return false;
}

}  // namespace criu::engine
