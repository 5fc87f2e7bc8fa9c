// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// GPUs in /sys/class/kfd, in the order of their nodes.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpu {

struct Node {
    std::uint32_t id = 0;    // gpu_id
    unsigned int minor = 0;  // N of /dev/dri/renderDN
    std::map<std::string, std::uint64_t> properties;

    // Returns 0 for a property that the kernel doesn't show.
    std::uint64_t property(const std::string& name) const {
        const auto found = properties.find(name);
        return found == properties.end() ? 0 : found->second;
    }
    std::string render_path() const { return "/dev/dri/renderD" + std::to_string(minor); }
};

// Returns all GPUs. Throws Failure if there is none.
std::vector<Node> nodes();

}  // namespace gpu
