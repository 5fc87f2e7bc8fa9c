// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

namespace criu::kernel {

/// NUMA memory policy of a thread: the nodes on which the kernel allocates the thread's memory (get_mempolicy(2)).
struct MemoryPolicy {
    /// Maximal number of nodes that a kernel supports: CONFIG_NODES_SHIFT is at most 10.
    static constexpr std::size_t kMostNodes = 1024;
    static constexpr std::size_t kNodesPerWord = 8 * sizeof(unsigned long);
    using Nodes = std::array<unsigned long, kMostNodes / kNodesPerWord>;

    int mode = 0;   ///< MPOL_… mode, with its mode flags
    Nodes nodes{};  ///< mask in which bit N stands for node N

    /// Returns a policy by which the kernel uses `node` as long as this node has free memory, and then other nodes.
    static MemoryPolicy preferring(unsigned node);
};

/// Returns true if the machine has several nodes, or can get more.
[[nodiscard]] bool hasSeveralNodes();

/// Sets the memory policy of the calling thread. If this thread writes to the memory of another process, the policy
/// also applies to pages that the kernel allocates there: it uses get_task_policy() of the current task
/// (mm/mempolicy.c). Returns false if this process may not use the nodes.
[[nodiscard]] bool setMemoryPolicy(const MemoryPolicy& policy) noexcept;

}  // namespace criu::kernel
