// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "plugins/amdgpu/dump_objects.hpp"

/// What there is to be found out of the buffers of a stopped tree, and what of it can't be dumped.
namespace criu::amdgpu {

/// Finds the render node of each GPU that the driver was given as the process' address space there.
void findDrmFiles(Kernel& kernel, DumpedProcess& process, const std::vector<RenderNode>& nodes,
                  const Topology& topology);

/// Lists the buffers of a render node. Throws Error if one of them can't be dumped.
void listBuffers(Kernel& kernel, RenderNode& node, DumpObjects& objects, Log& log);

/// Throws Error if processes share memory of the compute driver.
void refuseSharing(const std::vector<DumpedProcess>& processes, const Topology& topology);

/// Throws Error if a mapping is of no buffer that was found.
void checkMappings(const DumpedTree& tree, const Topology& topology);

}  // namespace criu::amdgpu
