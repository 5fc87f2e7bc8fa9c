// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

namespace criu::kernel {

/// NUMA memory policy of a thread: the nodes on which the kernel allocates its memory (get_mempolicy(2)).
struct MemoryPolicy {
    /// Maximal number of nodes of the kernel: CONFIG_NODES_SHIFT is 10 at most.
    static constexpr std::size_t kMostNodes = 1024;
    static constexpr std::size_t kNodesPerWord = 8 * sizeof(unsigned long);
    using Nodes = std::array<unsigned long, kMostNodes / kNodesPerWord>;

    int mode = 0;   ///< MPOL_… mode with flags
    Nodes nodes{};  ///< bit mask

    /// Returns a policy that uses this node while it has free memory, then others.
    static MemoryPolicy preferring(unsigned node);
};

/// Returns true if the machine has, or may get, more than one node.
[[nodiscard]] bool hasSeveralNodes();

/// Sets the memory policy of the calling thread. It also applies to pages that the thread's remote writes allocate in
/// other processes (mm/mempolicy.c, get_task_policy() of the current task). Returns false if this process may not use
/// these nodes.
[[nodiscard]] bool setMemoryPolicy(const MemoryPolicy& policy) noexcept;

}  // namespace criu::kernel
