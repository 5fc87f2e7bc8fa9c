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

/// Throws Error if a render node has contexts for submissions: how far these have come is in the driver alone.
void refuseContexts(Kernel& kernel, const RenderNode& node);

/// Throws Error if a buffer's handle couldn't be restored on this machine. `killed`: the processes won't go on after
/// the dump; otherwise it is said in the log only.
void checkHandles(Kernel& kernel, const RenderNode& node, bool killed, Log& log);

/// Throws Error if processes share memory of the compute driver and a restore would make it two. `compat`: the images
/// are for CRIU 4.2.
void refuseSharing(const std::vector<DumpedProcess>& processes, const DumpObjects& objects, const Topology& topology,
                   bool compat);

/// Says which queues an older driver may not have saved whole.
void warnOfDies(const DumpedProcess& process, const Topology& topology, Log& log);

/// A render node lists what the compute driver has mapped in its address space, too, if it has the buffer: that is the
/// process' compute state, and restored with it.
void dropComputeMappings(DumpedTree& tree);

/// Throws Error if a mapping is of no buffer that was found.
void checkMappings(const DumpedTree& tree, const Topology& topology);

}  // namespace criu::amdgpu
