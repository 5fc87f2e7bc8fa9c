// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_frozen.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/image/old_images.hpp"
#include "criu/kernel/tasks.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// The processes of a tree that isn't frozen: some may end meanwhile, and others be born. Parents before children.
std::vector<HostPid> runningTree(HostPid root) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    std::vector<HostPid> tree{root};
    for (std::size_t i = 0; i < tree.size(); ++i) {
        try {
            const kernel::ProcPid process = proc.open(tree[i].value);
            for (const pid_t thread : kernel::readThreads(process))
                for (const pid_t child : kernel::readChildren(process, thread, buffer))
                    if (std::find(tree.begin(), tree.end(), HostPid(child)) == tree.end())
                        tree.emplace_back(child);
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
        }
    }
    return tree;
}

}  // namespace

FrozenPhase::FrozenPhase(Run& run, Guardian& guardian)
    : run_(run),
      guardian_(guardian),
      cgroupProperties_(cgroup::readProperties(run.options)),
      images_(std::move(run.imagesDir), run.options.imagesDir),
      tree_(run.options.timeout, run.stop, run.log),
      devices_(run.devices, run.options, run.log, images_, run.stop) {
    removeOldImages(images_);
    guardian_.require(Stage::PreDump);
    while (devices_.wantAnnouncement() && devices_.announce(runningTree(guardian_.root().inside)))
        stop().throwIfRequested();
    log().info("Stage: freeze");
    const Stopwatch watch(statistics_.freezing);
    since_ = std::chrono::steady_clock::now();
    tree_.freeze(guardian_.root().inside, options().freezeCgroup, [this](HostPid pid) { devices_.pause(pid); });
}

const model::Options& FrozenPhase::options() const noexcept {
    return run_.options;
}

const model::Client& FrozenPhase::client() const noexcept {
    return run_.client;
}

Log& FrozenPhase::log() const noexcept {
    return run_.log;
}

StopRequest& FrozenPhase::stop() const noexcept {
    return run_.stop;
}

void FrozenPhase::resume(model::FinalState state) {
    tree_.resume(state == model::FinalState::Stopped);
    noteTime();
}

void FrozenPhase::end() {
    tree_.kill(guardian_.isInside());
    noteTime();
}

void FrozenPhase::noteTime() noexcept {
    statistics_.frozen =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - since_);
}

}  // namespace criu::engine
