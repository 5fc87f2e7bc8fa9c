// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// GPUs in /sys/class/kfd, in the order of their nodes.
#include <cstdint>
#include <string>
#include <vector>

namespace gpu {

struct Node {
    std::uint32_t id = 0;    // gpu_id
    unsigned int minor = 0;  // N of /dev/dri/renderDN
    std::string render_path() const { return "/dev/dri/renderD" + std::to_string(minor); }
};

// Returns all GPUs. Throws Failure if there is none.
std::vector<Node> nodes();

}  // namespace gpu
