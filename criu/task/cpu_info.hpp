// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "images/cpuinfo.fwd.hpp"

/// Functions for the features of processors, which a dump stores and a restore compares (--cpu-cap, cpuinfo).
namespace criu::task {

/// Returns the message of cpuinfo.img that describes this machine's processor.
CpuinfoEntry* describeCpu(Arena& arena);

/// Throws Error with the cause if programs that ran on the processor `there` can't run on the processor `here`. `caps`
/// selects the comparisons. Both messages must describe processors of this architecture.
void compareCpus(const CpuinfoEntry& there, const CpuinfoEntry& here, model::CpuCaps caps);

/// Writes cpuinfo.img.
void dumpCpu(const ImageDir& images);

/// Compares this machine's processor with cpuinfo.img, which must exist.
void checkCpu(const ImageDir& images, model::CpuCaps caps);

}  // namespace criu::task
