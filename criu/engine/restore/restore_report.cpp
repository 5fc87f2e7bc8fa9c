// SPDX-License-Identifier: GPL-2.0-only
#include <chrono>

#include "criu/base/log.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/restore/born.hpp"
#include "criu/engine/restore/parked.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"
#include "criu/engine/restore/running.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/pagemap.hpp"

/// Final report and statistics of a restore.
namespace criu::engine {
namespace {

std::chrono::microseconds since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
}

}  // namespace

void RunningRestore::reportDone() const {
    const PreparedRestore& prepared = parked_.born.prepared;
    const PlannedRestore& planned = prepared.planned;
    const ControlPage& page = prepared.control.page();
    RestoreStatistics statistics;
    statistics.forking = parked_.forking;
    statistics.restore = since(planned.started);
    statistics.pagesRestored = page.restoredPages + parked_.sharedBytes / kImagePageSize;
    statistics.pagesCompared = page.comparedPages;
    statistics.pagesSkippedCow = page.sharedPages;
    reportStatistics(statistics, planned.options(), planned.run.client, planned.log());
    planned.log().info("Restore finished: {} processes run", planned.countAlive());
}

}  // namespace criu::engine
