// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/cpu_info.hpp"

#include "criu/base/error.hpp"
#include "images/cpuinfo.hpp"

namespace criu::task {

void dumpCpu(const ImageDir& images) {
    Arena arena;
    ImageWriter image = images.create(ImageKind::Cpuinfo);
    image.write(*describeCpu(arena));
    image.finish();
}

void checkCpu(const ImageDir& images, model::CpuCaps caps) {
    const Record<CpuinfoEntry> there = images.openRequired(ImageKind::Cpuinfo).only<CpuinfoEntry>();
    Arena arena;
    const ErrorContext context([] { return imageName(ImageKind::Cpuinfo); });
    compareCpus(*there, *describeCpu(arena), caps);
}

}  // namespace criu::task
