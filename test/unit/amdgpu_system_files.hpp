// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "amdgpu_machine.hpp"
#include "criu/base/error.hpp"
#include "criu/kernel/proc/scan.hpp"

/// Systems of topologies/*.txt as trees of sysfs files; topologies/README.md describes the format.
namespace criu::amdgpu::test {

/// Folder like /sys/class/kfd/kfd/topology of the system that a text describes. The destructor removes it.
class SystemFiles {
public:
    explicit SystemFiles(const std::string& path) {
        std::ifstream file(path);
        if (!file)
            fail("open {}", path);
        std::string line;
        std::string model;
        while (std::getline(file, line))
            try {
                read(line, model);
            } catch (const Error& error) {
                fail("{}: '{}': {}", path, line, error.what());
            }
        write();
    }

    [[nodiscard]] const std::string& root() const { return tree_.root(); }

private:
    using Values = std::map<std::string, std::string>;
    struct SystemNode {
        GpuId gpuId = 0;
        std::string bank;
        Values properties;
        std::vector<std::pair<int, std::uint32_t>> links;  ///< type and target node
    };
    /// Node numbers "N" or "N-M".
    struct Range {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
    };

    static std::vector<std::string> wordsOf(const std::string& line) {
        std::istringstream stream(line);
        return {std::istream_iterator<std::string>(stream), {}};
    }

    static std::uint64_t number(const std::string& text) {
        std::size_t used = 0;
        const std::uint64_t value = std::stoull(text, &used, 0);
        if (used != text.size())
            fail("'{}' is no number", text);
        return value;
    }

    static Range range(const std::string& text) {
        const auto dash = text.find('-');
        const auto first = static_cast<std::uint32_t>(number(text.substr(0, dash)));
        return {first, dash == text.npos ? first : static_cast<std::uint32_t>(number(text.substr(dash + 1)))};
    }

    static int linkType(const std::string& name) {
        if (name == "pcie")
            return static_cast<int>(LinkType::Pcie);
        if (name == "xgmi")
            return static_cast<int>(LinkType::Xgmi);
        fail("no kind of link");
    }

    void join(int type, std::uint32_t one, std::uint32_t other) {
        nodes_.at(one).links.emplace_back(type, other);
        nodes_.at(other).links.emplace_back(type, one);
    }

    void read(const std::string& line, std::string& model) {
        const std::vector<std::string> words = wordsOf(line);
        if (words.empty() || words[0][0] == '#')
            return;
        const std::string& kind = words[0];
        if (line[0] == ' ') {
            Values& values = models_.at(model);
            if (kind == "bank")
                values[kind] = fmt::format("heap_type {}\nsize_in_bytes {}\nflags 0\n", words.at(1), words.at(2));
            else
                values[kind] = words.at(1);
        } else if (kind == "model") {
            models_[model = words.at(1)];
        } else if (kind == "cpu" || kind == "gpu") {
            addNodes(words);
        } else if (kind == "link") {
            join(linkType(words.at(1)), static_cast<std::uint32_t>(number(words.at(2))),
                 static_cast<std::uint32_t>(number(words.at(3))));
        } else if (kind == "fan") {
            const Range others = range(words.at(3));
            for (std::uint32_t other = others.first; other <= others.last; ++other)
                join(linkType(words.at(1)), static_cast<std::uint32_t>(number(words.at(2))), other);
        } else if (kind == "mesh") {
            const Range all = range(words.at(2));
            for (std::uint32_t one = all.first; one <= all.last; ++one)
                for (std::uint32_t other = all.first; other < one; ++other)
                    join(linkType(words.at(1)), one, other);
        } else if (kind == "hidden") {
            const Range all = range(words.at(1));
            for (std::uint32_t id = all.first; id <= all.last; ++id)
                hidden_.insert(id);
        } else {
            fail("no line of such a file");
        }
    }

    void addNodes(const std::vector<std::string>& words) {
        const bool gpu = words[0] == "gpu";
        const Range all = range(words.at(1));
        for (std::uint32_t id = all.first; id <= all.last; ++id) {
            SystemNode& node = nodes_[id];
            if (gpu)
                node.properties = models_.at(words.at(2));
            for (std::size_t at = gpu ? 3 : 2; at < words.size(); ++at) {
                const auto equals = words[at].find('=');
                const auto plus = words[at].find('+');
                const std::string name = words[at].substr(0, equals);
                std::uint64_t value = number(words[at].substr(equals + 1, plus - equals - 1));
                if (plus != words[at].npos)
                    value += (id - all.first) * number(words[at].substr(plus + 1));
                node.properties[name] = fmt::format("{}", value);
            }
        }
    }

    void write() {
        for (auto& [id, node] : nodes_) {
            const std::string folder = tree_.node(id);
            std::filesystem::create_directories(folder);
            if (hidden_.contains(id))
                continue;
            node.properties["io_links_count"] = fmt::format("{}", node.links.size());
            std::string text;
            for (const auto& [name, value] : node.properties)
                if (name == "bank")
                    Sysfs::put(folder + "/mem_banks/0/properties", value);
                else if (name != "gpu_id")
                    text += fmt::format("{} {}\n", name, value);
            Sysfs::put(folder + "/properties", text);
            const auto gpuId = node.properties.find("gpu_id");
            Sysfs::put(folder + "/gpu_id", gpuId == node.properties.end() ? "0\n" : gpuId->second + "\n");
            for (std::size_t at = 0; at < node.links.size(); ++at)
                Sysfs::put(fmt::format("{}/io_links/{}/properties", folder, at),
                           fmt::format("type {}\nnode_from {}\nnode_to {}\n", node.links[at].first, id,
                                       node.links[at].second));
        }
    }

    Sysfs tree_{Machine{}};
    std::map<std::string, Values> models_;
    std::map<std::uint32_t, SystemNode> nodes_;
    std::set<std::uint32_t> hidden_;
};

}  // namespace criu::amdgpu::test
