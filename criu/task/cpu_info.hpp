// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "images/cpuinfo.fwd.hpp"

/// What processors offer: written down beside a dump, and compared where it is restored (--cpu-cap, cpuinfo).
namespace criu::task {

/// This machine's processor, as cpuinfo.img has it.
CpuinfoEntry* describeCpu(Arena& arena);

/// Throws Error naming what is in the way if programs of a machine described by `there` can't go on on one described by
/// `here`, as far as `caps` wants to know it. Both hold what this processor's kind is described by.
void compareCpus(const CpuinfoEntry& there, const CpuinfoEntry& here, model::CpuCaps caps);

/// Writes cpuinfo.img.
void dumpCpu(const ImageDir& images);

/// Compares cpuinfo.img, which must be there, with this machine's processor.
void checkCpu(const ImageDir& images, model::CpuCaps caps);

}  // namespace criu::task
