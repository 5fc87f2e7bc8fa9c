// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "plugins/amdgpu/dump_objects.hpp"

/// Functions that examine the buffers of a frozen tree. They throw Error for buffers that criu can't dump.
namespace criu::amdgpu {

/// Finds, for each GPU, the open render node that provides the address space of the process. Fills process.drmFiles.
void findDrmFiles(Kernel& kernel, DumpedProcess& process, const std::vector<RenderNode>& nodes,
                  const Topology& topology);

/// Lists the buffers of a render node. Throws Error if one of them can't be dumped.
void listBuffers(Kernel& kernel, RenderNode& node, DumpObjects& objects, Log& log);

/// Checks that this machine can restore the buffers' handles. If it can't, throws Error if `killed` is true, and logs a
/// warning otherwise. `killed`: criu kills the processes after the dump.
void checkHandles(Kernel& kernel, const RenderNode& node, bool killed, Log& log);

/// Throws Error if processes share memory of the compute driver that a restore would duplicate. `compat`: the images
/// are for CRIU 4.2.
void refuseSharing(const std::vector<DumpedProcess>& processes, const DumpObjects& objects, const Topology& topology,
                   bool compat);

/// Warns if the driver saves the state of queues only for the first die, and the process has GPUs with several dies.
void warnOfDies(const DumpedProcess& process, const Topology& topology, Log& log);

/// Removes mappings of compute buffers from the lists of render nodes, because RESTORE makes these mappings.
void dropComputeMappings(DumpedTree& tree);

/// Throws Error if a mapping belongs to no known buffer.
void checkMappings(const DumpedTree& tree, const Topology& topology);

}  // namespace criu::amdgpu
