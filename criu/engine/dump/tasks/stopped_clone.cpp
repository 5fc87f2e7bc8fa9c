// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/stopped_clone.hpp"

#include <signal.h>

#include <exception>

#include "criu/base/error.hpp"

namespace criu::engine {

StoppedClone::StoppedClone(pid_t tid, compel::SeizeOptions creator)
    : tracee_(compel::Tracee::bornTraced(tid, creator)) {
    try {
        if (tracee_.waitStop().kind != compel::StopInfo::Kind::Interrupted)
            fail("a clone isn't stopped at its birth");
        compel::SeizeOptions options = tracee_.options();
        options.killOnExit = true;
        tracee_.setOptions(options);
    } catch (...) {
        kill();
        throw;
    }
}

StoppedClone::~StoppedClone() {
    kill();
}

void StoppedClone::kill() noexcept {
    if (tracee_.released())
        return;
    ::kill(tracee_.tid(), SIGKILL);
    try {
        tracee_.waitEnd();
    } catch (const std::exception&) {
        return;  // another process has reaped it
    }
}

}  // namespace criu::engine
