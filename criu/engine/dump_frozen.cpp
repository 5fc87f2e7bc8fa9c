// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_frozen.hpp"

#include <utility>

#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/image/old_images.hpp"

namespace criu::engine {

FrozenPhase::FrozenPhase(Run& run, Guardian& guardian)
    : run_(run),
      guardian_(guardian),
      cgroupProperties_(cgroup::readProperties(run.options)),
      images_(std::move(run.imagesDir), run.options.imagesDir),
      tree_(run.options.timeout, run.stop, run.log),
      devices_(run.devices, run.options, run.log, images_, run.stop) {
    removeOldImages(images_);
    guardian_.require(Stage::PreDump);
    log().info("Stage: freeze");
    const Stopwatch watch(statistics_.freezing);
    since_ = std::chrono::steady_clock::now();
    tree_.freeze(guardian_.root().inside, options().freezeCgroup, [this](HostPid pid) { devices_.pause(pid); });
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
