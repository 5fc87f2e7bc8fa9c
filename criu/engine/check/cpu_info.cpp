// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/cpu_info.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_transfer.hpp"

namespace criu::engine {

void dumpCpuInfo(Run& run) {
    if (run.options.stream)
        run.listeners.require(Stage::PreStream);
    OutgoingImages outgoing = openOutgoing(run);
    task::dumpCpu(outgoing.images);
    outgoing.complete(run);
    run.log.info("Wrote {}", imageName(ImageKind::Cpuinfo));
}

void checkCpuInfo(Run& run) {
    const ImageDir images = takeImages(run);
    model::CpuCaps caps = run.options.cpuCaps;
    caps.clear({model::CpuCap::Image});
    if (caps == model::CpuCaps{})
        caps = {model::CpuCap::Fpu, model::CpuCap::Cpu, model::CpuCap::Ins};
    task::checkCpu(images, caps);
    run.log.info("This processor offers what {} says", imageName(ImageKind::Cpuinfo));
}

}  // namespace criu::engine
