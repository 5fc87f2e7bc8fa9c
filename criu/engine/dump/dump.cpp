// SPDX-License-Identifier: GPL-2.0-only
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/dump/captured.hpp"
#include "criu/engine/dump/complete.hpp"
#include "criu/engine/dump/dry_run.hpp"
#include "criu/engine/dump/dump_root.hpp"
#include "criu/engine/dump/examined.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/fuse_guarded_run.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/images/dedup.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

int dumpGuarded(Run& run, Guardian& guardian, std::optional<WpTrackerLink> link) {
    loadLibraries(guardian.root().ids, guardian.root().home);
    if (run.options.dryRun)
        return dryRun(run, guardian);
    if (run.options.stream)
        guardian.require(Stage::PreStream);
    FrozenPhase frozen(run, guardian, FrozenPhase::Purpose::Dump, std::move(link));
    const int status = runFuseGuarded(frozen, [&frozen](const GuardedFiles& guardedFiles) {
        ExaminedPhase examined(frozen, guardedFiles);
        CapturedPhase captured(examined);
        CompletePhase complete(captured);
        return complete.conclude();
    });
    if (status == 0)
        dedupParents(frozen.images(), run);
    return status;
}

}  // namespace

int dump(Run& run) {
    requireDumpableRoot(*run.options.tree);
    if (!run.client.isOwner)
        requireClientsProcesses(run.client, runningTree(*run.options.tree));
    if (run.options.previousImages && !run.options.trackMemory)
        run.log.warn(
            "--prev-images-dir without --track-mem: the dump writes all pages, also those of the parent images");
    if (run.options.noLoss)
        run.log.refuseLosses(~run.options.allowedLosses);
    const GuardedRoot root(*run.options.tree);
    run.listeners.setRoot(*run.options.tree);
    if (run.options.dryRun) {
        run.listeners = {};
        run.drivers = {};
    }
    std::optional<WpTrackerLink> link = run.options.dryRun ? std::nullopt : WpTrackerLink::find(root, run);
    if (!link && run.options.trackMemory && !run.options.dryRun && run.options.finalState != model::FinalState::Default)
        link = WpTrackerLink::start(root, run);
    return runGuarded(run, root, [&run, &link](Guardian& guardian) {
        try {
            return dumpGuarded(run, guardian, std::move(link));
        } catch (const Error& error) {
            // The destructors of the phases have reverted all changes. After a signal, or if the disk is full, the
            // error doesn't say so. It names the signal if StopRequest or the guardian made its text.
            Error told(error);
            const bool isNamed = std::string_view(error.what()).find("stopped by SIG") != std::string_view::npos;
            const int signal = run.stop.take();
            const bool isFull = error.code() == ENOSPC || error.code() == EDQUOT || error.code() == EFBIG;
            if (signal != 0 || isNamed || isFull)
                told.addHint(fmt::format("{}the processes run on{}",
                                         isNamed || signal == 0 ? "" : fmt::format("SIG{}: ", ::sigabbrev_np(signal)),
                                         run.options.dryRun ? "" : ", and the images are incomplete"));
            run.log.failure(told);
            // A client of the service or of swrk has no use for an option of the command line.
            const bool isRefusal = error.code() == 0 && !error.hint().empty() && signal == 0 && !isNamed;
            if (isRefusal && run.client.process == nullptr && !run.options.dryRun)
                run.log.advise("The dump may have more obstacles: criu dump --dry-run lists all of them");
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
