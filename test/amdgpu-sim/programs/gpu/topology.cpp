// SPDX-License-Identifier: GPL-2.0-only
#include "gpu/topology.hpp"

#include <filesystem>
#include <fstream>

#include "gpu/subject.hpp"

namespace gpu {

std::vector<Node> nodes() {
    std::vector<Node> found;
    for (int number = 0;; ++number) {
        const std::string folder = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(number);
        if (!std::filesystem::exists(folder)) {
            break;
        }
        // Files of GPUs that the device cgroup forbids can't be read.
        std::ifstream id_file(folder + "/gpu_id");
        Node node;
        if (!(id_file >> node.id)) {
            continue;
        }
        std::ifstream properties(folder + "/properties");
        std::string name;
        std::uint64_t value = 0;
        while (properties >> name >> value) {
            node.properties[name] = value;
            if (name == "drm_render_minor") {
                node.minor = static_cast<unsigned int>(value);
            }
        }
        if (node.id != 0) {
            found.push_back(node);
        }
    }
    expect(!found.empty(), "no GPU is in the topology");
    return found;
}

}  // namespace gpu
