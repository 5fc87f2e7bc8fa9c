// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/complete.hpp"

#include <compel/tracing_thread.hpp>

#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/captured.hpp"
#include "criu/engine/dump/examined.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/inventory.hpp"
#include "criu/engine/dump/memory/dump_lazy_pages.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/model/options.hpp"
#include "images/pstree.hpp"

namespace criu::engine {

void writeTree(FrozenTree& tree, const ImageDir& images) {
    ImageWriter image = images.create(ImageKind::Pstree);
    for (const auto& task : tree.tasks()) {
        PstreeEntry entry = PSTREE_ENTRY__INIT;
        entry.pid = static_cast<std::uint32_t>(task->treePid().value);
        const TreePid parent = tree.pids().inside(HostPid(task->stat.ppid));
        entry.ppid = task->pid() == tree.rootPid() ? 0 : static_cast<std::uint32_t>(parent.value);
        entry.pgid = static_cast<std::uint32_t>(task->group().value);
        entry.sid = static_cast<std::uint32_t>(task->session().value);
        if (task->parentThread && task->pid() != tree.rootPid()) {
            entry.has_parent_thread = 1;
            entry.parent_thread = static_cast<std::uint32_t>(tree.pids().inside(task->parentThread).value);
        }
        std::vector<std::uint32_t> threads;
        if (task->leaderEnded())
            threads.push_back(entry.pid);
        if (task->alive())
            for (const compel::FrozenThread& thread : task->process->threads())
                threads.push_back(static_cast<std::uint32_t>(tree.pids().inside(HostPid(thread.tracee.tid())).value));
        else
            threads.push_back(entry.pid);
        entry.n_threads = threads.size();
        entry.threads = threads.data();
        image.write(entry);
    }
    image.finish();
}

CompletePhase::CompletePhase(CapturedPhase& captured)
    : captured_(captured), examined_(captured.examined()), frozen_(examined_.frozen()) {
    writeTree(frozen_.tree(), frozen_.images());
    frozen_.stop().throwIfRequested();
    if (!frozen_.options().background)
        completeImages();
}

void CompletePhase::completeImages() {
    frozen_.pages().finish();
    // Syncs twice, so that a power cut leaves no inventory without the other images.
    frozen_.syncImages();
    try {
        writeInventory(captured_);
        frozen_.sendImages();
        frozen_.syncImages();
    } catch (...) {
        frozen_.revokeImages();  // in the constructor, C++ doesn't call the destructor after an exception
        throw;
    }
}

CompletePhase::~CompletePhase() {
    if (!stays_)
        frozen_.revokeImages();
}

int CompletePhase::conclude() {
    const int status = frozen_.options().background ? resumeFirst() : resumeLast();
    reportStatistics(frozen_.statistics(), frozen_.options(), frozen_.client(), frozen_.log());
    frozen_.log().info("Dumping finished successfully");
    return status;
}

/// Concludes a dump with --background: reverts all changes and resumes the tree, then writes the memory snapshots and
/// the inventory.
int CompletePhase::resumeFirst() {
    compel::inTracingThread([&] { frozen_.devices().release(true); });
    resume(model::FinalState::Running);
    frozen_.log().stage("background");
    frozen_.log().info("The tree runs again after {} ms", frozen_.statistics().frozen.count() / 1000);
    captured_.captureSnapshots();
    frozen_.stop().throwIfRequested();
    completeImages();
    keep();
    concludeTracking();
    return frozen_.guardian().notify(Stage::PostDump);
}

int CompletePhase::resumeLast() {
    const int status = frozen_.guardian().notify(Stage::PostDump);
    if (status == 0 && frozen_.lazyPageServer() != nullptr)
        serveLazyPages(frozen_);
    const model::FinalState state = status != 0 ? model::FinalState::Running : frozen_.options().finalState;
    const bool ends = state == model::FinalState::Default;
    if (ends) {
        captured_.prepareKill();
        examined_.prepareKill();
    }
    compel::inTracingThread([&] { frozen_.devices().release(!ends); });
    if (ends)
        end();
    else
        resume(state);
    keep();
    if (status == 0 && !ends)
        concludeTracking();
    return status;
}

void CompletePhase::resume(model::FinalState state) {
    captured_.release(state);
    examined_.release(state);
    frozen_.resume(state);
}

/// Makes the destructors of all phases keep the images.
void CompletePhase::keep() noexcept {
    stays_ = true;
    frozen_.keepImages();
}

/// Commits memory tracking for the next dump, or ends tracking. Only warns of a failure: the images are complete, and a
/// dump without tracking writes all pages.
void CompletePhase::concludeTracking() {
    try {
        if (frozen_.options().trackMemory)
            frozen_.commitTracking();
        else
            frozen_.tracking().finish();
    } catch (const std::exception& error) {
        frozen_.log().warn("Memory isn't tracked any more: {}", error.what());
    }
}

void CompletePhase::end() {
    try {
        frozen_.end();
    } catch (...) {
        if (frozen_.tree().endBegun())
            keep();  // processes exist only in the images
        throw;
    }
    keep();
    captured_.release(model::FinalState::Default);
    examined_.release(model::FinalState::Default);
}

}  // namespace criu::engine
