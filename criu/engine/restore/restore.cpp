// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/mapping_room.hpp"
#include "criu/engine/pid_room.hpp"
#include "criu/engine/rescue.hpp"
#include "criu/engine/restore/born.hpp"
#include "criu/engine/restore/parked.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"
#include "criu/engine/restore/running.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

namespace {

/// Returns true if criu waits until the restored root has ended.
bool waits(const model::Options& options) noexcept {
    return !options.detached && options.execCommand.empty() && options.finalState != model::FinalState::Stopped;
}

/// Refuses a detached restore if criu is process 1: when criu, the init, exits, the kernel ends all processes of the
/// pid namespace (pid_namespaces(7)).
void refuseExitAsInit(const model::Options& options) {
    if (::getpid() != 1 || waits(options) || !options.execCommand.empty())
        return;
    Error error(0, "criu is process 1 of its pid namespace, and all that it restores would end with it");
    error.addHint("leave out --restore-detached: then criu stays until the restored processes have ended");
    throw error;
}

}  // namespace

int restore(Run& run) {
    const model::Options& options = run.options;
    refuseExitAsInit(options);
    if (options.stream)
        run.listeners.require(Stage::PreStream);
    RestoreJournal journal(options.root.value_or(""), run.log);
    run.listeners.append(run.drivers);  // a restore has no guardian, so this process notifies device subsystems, too
    PlannedRestore planned(run);
    requireMappingRoom(planned.content);
    PidRoom room(planned);
    PreparedRestore prepared(planned);
    BornRestore born(prepared);
    ParkedRestore parked(born);
    const RunningRestore running(parked);
    journal.end();
    room.keep();
    return waits(options) ? running.awaitRoot() : 0;
}

}  // namespace criu::engine
