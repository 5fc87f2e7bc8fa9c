// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/engine.hpp"
#include "criu/engine/restore_born.hpp"
#include "criu/engine/restore_parked.hpp"
#include "criu/engine/restore_planned.hpp"
#include "criu/engine/restore_prepared.hpp"
#include "criu/engine/restore_running.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

int restore(Run& run) {
    const model::Options& options = run.options;
    run.listeners.append(run.drivers);  // one process notifies all
    PlannedRestore planned(run);
    PreparedRestore prepared(planned);
    BornRestore born(prepared);
    ParkedRestore parked(born);
    const RunningRestore running(parked);
    if (options.detached || !options.execCommand.empty() || options.finalState == model::FinalState::Stopped)
        return 0;
    return running.awaitRoot();
}

}  // namespace criu::engine
