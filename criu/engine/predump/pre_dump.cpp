// SPDX-License-Identifier: GPL-2.0-only
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/dump/dump_root.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/fuse_guarded_run.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/images/dedup.hpp"
#include "criu/engine/predump/pre_dump_memory.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

int preDumpGuarded(Run& run, Guardian& guardian, std::optional<WpTrackerLink> link) {
    if (run.options.stream)
        guardian.require(Stage::PreStream);
    FrozenPhase frozen(run, guardian, FrozenPhase::Purpose::PreDump, std::move(link));
    const int status = runFuseGuarded(frozen, [&frozen](const GuardedFiles&) {
        PreDumpMemory memory(frozen);
        frozen.resume(model::FinalState::Running);
        memory.write();
        frozen.keepImages();
        return 0;
    });
    dedupParents(frozen.images(), run);
    reportStatistics(frozen.statistics(), run.options, run.client, run.log);
    run.log.info("Pre-dumping finished successfully");
    return status;
}

}  // namespace

int preDump(Run& run) {
    requireDumpableRoot(*run.options.tree);
    if (!run.client.isOwner)
        requireClientsProcesses(run.client, runningTree(*run.options.tree));
    const GuardedRoot root(*run.options.tree);
    std::optional<WpTrackerLink> link = WpTrackerLink::find(root, run);
    if (!link)
        link = WpTrackerLink::start(root, run);
    return runGuarded(run, root, [&run, &link](Guardian& guardian) {
        try {
            return preDumpGuarded(run, guardian, std::move(link));
        } catch (const Error& error) {
            Error told(error);
            if (error.code() == ENOSPC || error.code() == EDQUOT || error.code() == EFBIG)
                told.addHint("the processes run on, and the images are incomplete");
            run.log.failure(told);
            guardian.report(run.log.cause());
            return 1;
        } catch (const std::exception& error) {
            run.log.failure(error);
            guardian.report(run.log.cause());
            return 1;
        }
    });
}

}  // namespace criu::engine
