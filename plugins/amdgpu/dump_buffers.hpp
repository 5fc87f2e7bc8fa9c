// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "plugins/amdgpu/dump_objects.hpp"

/// Examination of the buffers of a frozen tree, with refusals of all that can't be dumped.
namespace criu::amdgpu {

/// Finds the render node of each GPU that provides the process' address space there.
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

/// Warns of queues whose state an older driver may save in part.
void warnOfDies(const DumpedProcess& process, const Topology& topology, Log& log);

/// Removes mappings that are compute state from render nodes' lists: the compute driver restores them.
void dropComputeMappings(DumpedTree& tree);

/// Throws Error if a mapping belongs to no known buffer.
void checkMappings(const DumpedTree& tree, const Topology& topology);

}  // namespace criu::amdgpu
