// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/memory_policy.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "criu/base/error.hpp"

namespace criu::kernel {

MemoryPolicy MemoryPolicy::preferring(unsigned node) {
    if (node >= kMostNodes)
        fail("the machine has no node {}", node);
    MemoryPolicy policy;
    policy.mode = MPOL_PREFERRED;
    policy.nodes[node / kNodesPerWord] = 1UL << node % kNodesPerWord;
    return policy;
}

bool hasSeveralNodes() {
    // The file contains a list such as "0-1" or "0,2". A kernel without CONFIG_NUMA doesn't have the file.
    std::string nodes;
    std::getline(std::ifstream("/sys/devices/system/node/possible"), nodes);
    return nodes.find_first_of(",-") != std::string::npos;
}

bool setMemoryPolicy(const MemoryPolicy& policy) noexcept {
    return ::syscall(SYS_set_mempolicy, policy.mode, policy.nodes.data(), MemoryPolicy::kMostNodes) == 0;
}

}  // namespace criu::kernel
