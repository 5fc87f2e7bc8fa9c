// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/compare/checkpoint_comparison.hpp"
#include "criu/engine/compare/difference.hpp"
#include "criu/engine/dump/captured.hpp"
#include "criu/engine/dump/complete.hpp"
#include "criu/engine/dump/dump_root.hpp"
#include "criu/engine/dump/examined.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/inventory.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/fuse_guarded_run.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/spool.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Returns the options of the second dump: those of the command line, without any that choose where and how a dump
/// writes images. Configuration files may contain such options.
model::Options secondDumpOptions(const model::Options& given) {
    const model::Options defaults;
    model::Options options = given;
    options.finalState = model::FinalState::Running;
    options.quiet = true;
    options.dryRun = false;
    options.background = false;
    options.trackMemory = false;
    options.lazyPages = false;
    options.autoDedup = false;
    options.previousImages.reset();
    options.pageServer = false;
    options.stream = false;
    options.streamTo.reset();
    options.streamFrom.reset();
    options.encrypt.clear();
    options.decrypt.reset();
    options.sign.reset();
    options.signedBy.reset();
    options.compress = defaults.compress;
    options.compat = defaults.compat;
    options.checksum = false;
    options.sync = false;
    options.actionScripts.clear();
    options.allowedLosses = defaults.allowedLosses;
    return options;
}

/// Writes images of the running tree into the directory of `run`, and reverts all changes.
void dumpAgain(Run& run, Guardian& guardian) {
    FrozenPhase frozen(run, guardian, FrozenPhase::Purpose::DryRun, std::nullopt);
    (void)runFuseGuarded(frozen, [&frozen](const GuardedFiles& guardedFiles) {
        ExaminedPhase examined(frozen, guardedFiles);
        const CapturedPhase captured(examined);
        writeTree(frozen.tree(), frozen.images());
        frozen.pages().finish();
        writeInventory(captured);
        return 0;
    });
}

int compareGuarded(Run& run, Guardian& guardian) {
    const std::function<void()> checkStop = [&run] { run.stop.throwIfRequested(); };
    IncomingImages incoming = openIncoming(run);
    const memory::FilePageSources pages(incoming.images);
    (void)readImages(incoming.images, pages, run.log);  // refuses damaged images before the freeze

    ImageDir spool = makeSpool(run.options.streamMemory, "the images of the running tree");
    const model::Options options = secondDumpOptions(run.options);
    Refusals refusals;
    Run again{options, run.log, run.stop, run.devices, run.stream, run.keys, refusals};
    again.client = run.client;
    again.imagesDir = UniqueFd(sys(::dup(spool.fd()), "copy the descriptor of a directory"));
    loadLibraries(guardian.root().ids, guardian.root().home);
    run.log.keepWarnings();  // the second dump loses nothing, because the tree runs on
    dumpAgain(again, guardian);

    run.log.stage("compare");
    const Differences differences = compareCheckpoints(incoming.images, spool, checkStop);
    const std::string report = run.options.json ? differences.json() : differences.text();
    ::dprintf(STDOUT_FILENO, "%s", report.c_str());
    if (!differences.found.empty())
        return kDiffers;
    return differences.uncompared.empty() ? kEqual : kNotCompared;
}

}  // namespace

int compare(Run& run) {
    requireDumpableRoot(*run.options.tree);
    const GuardedRoot root(*run.options.tree);
    run.listeners = {};
    run.drivers = {};
    return runGuarded(run, root, [&run](Guardian& guardian) {
        try {
            return compareGuarded(run, guardian);
        } catch (const std::exception& error) {
            run.log.failure(error);
            guardian.report(run.log.cause());
            return kNotCompared;
        }
    });
}

}  // namespace criu::engine
