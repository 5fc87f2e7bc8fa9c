// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "images/cpuinfo.fwd.hpp"

/// Features of processors: stored with a dump and compared at the restore (--cpu-cap, cpuinfo).
namespace criu::task {

/// Describes this machine's processor as cpuinfo.img does.
CpuinfoEntry* describeCpu(Arena& arena);

/// Throws Error naming the obstacle if programs of a machine `there` can't run on one `here`. `caps` selects the
/// comparisons. Both describe this architecture's processors.
void compareCpus(const CpuinfoEntry& there, const CpuinfoEntry& here, model::CpuCaps caps);

/// Writes cpuinfo.img.
void dumpCpu(const ImageDir& images);

/// Compares cpuinfo.img, which must exist, with this machine's processor.
void checkCpu(const ImageDir& images, model::CpuCaps caps);

}  // namespace criu::task
