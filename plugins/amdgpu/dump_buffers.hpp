// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "plugins/amdgpu/dump_objects.hpp"

/// Functions that examine the buffers of a frozen tree and refuse buffers that can't be dumped.
namespace criu::amdgpu {

/// Finds for each GPU the open render node that provides the process' address space. Fills process.drmFiles.
void findDrmFiles(Kernel& kernel, DumpedProcess& process, const std::vector<RenderNode>& nodes,
                  const Topology& topology);

/// Lists the buffers of a render node. Throws Error if one of them can't be dumped.
void listBuffers(Kernel& kernel, RenderNode& node, DumpObjects& objects, Log& log);

/// Checks that this machine can restore the buffers' handles. If not, throws Error if `killed`, and else logs a
/// warning. `killed`: criu kills the processes after the dump.
void checkHandles(Kernel& kernel, const RenderNode& node, bool killed, Log& log);

/// Throws Error if processes share memory of the compute driver and a restore would duplicate it. `compat`: the images
/// are for CRIU 4.2.
void refuseSharing(const std::vector<DumpedProcess>& processes, const DumpObjects& objects, const Topology& topology,
                   bool compat);

/// Warns if the driver saves only the first die's state of queues, and the process has GPUs with several dies.
void warnOfDies(const DumpedProcess& process, const Topology& topology, Log& log);

/// Removes mappings of compute buffers from the lists of render nodes, since RESTORE makes these mappings.
void dropComputeMappings(DumpedTree& tree);

/// Throws Error if a mapping belongs to no known buffer.
void checkMappings(const DumpedTree& tree, const Topology& topology);

}  // namespace criu::amdgpu
