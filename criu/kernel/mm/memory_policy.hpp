// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

namespace criu::kernel {

/// On which nodes of the machine (NUMA) the kernel makes memory for a thread: what get_mempolicy(2) tells of it.
struct MemoryPolicy {
    /// The kernel knows no more (CONFIG_NODES_SHIFT is 10 at most).
    static constexpr std::size_t kMostNodes = 1024;
    static constexpr std::size_t kNodesPerWord = 8 * sizeof(unsigned long);
    using Nodes = std::array<unsigned long, kMostNodes / kNodesPerWord>;

    int mode = 0;   ///< MPOL_…, with its flags
    Nodes nodes{};  ///< a bit each

    /// On this node as long as it has room, then on others.
    static MemoryPolicy preferring(unsigned node);
};

/// Whether the machine has, or may get, more nodes than one.
[[nodiscard]] bool hasSeveralNodes();

/// Has the kernel make memory for the calling thread by this policy, also in address spaces of others that it writes
/// to: pages that a remote write makes lie where the writer's policy says (mm/mempolicy.c, get_task_policy() of the
/// current task), not the owner's. False if this process may not use these nodes.
[[nodiscard]] bool setMemoryPolicy(const MemoryPolicy& policy) noexcept;

}  // namespace criu::kernel
