// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/topology.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::size_t kMaxProperties = 1000;

}  // namespace

Properties Properties::parse(std::string_view text) {
    Properties properties;
    kernel::Scanner scan(text);
    std::string_view line;
    while (scan.line(line)) {
        kernel::Scanner words(line);
        const std::string_view name = words.word();
        if (name.empty())
            continue;
        std::uint64_t value = 0;
        if (!words.number(value))
            fail("property '{}' has no number", name);
        words.blanks();
        if (!words.done())
            words.expected("the end of the line");
        if (properties.values_.size() == kMaxProperties)
            fail("more than {} properties", kMaxProperties);
        properties.values_.emplace_back(name, value);
    }
    return properties;
}

bool Properties::has(std::string_view name) const noexcept {
    return std::any_of(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
}

std::uint64_t Properties::wide(std::string_view name) const noexcept {
    const auto found =
        std::find_if(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
    return found == values_.end() ? 0 : found->second;
}

std::uint32_t Properties::get(std::string_view name) const {
    const std::uint64_t value = wide(name);
    if (value > std::numeric_limits<std::uint32_t>::max())
        fail("property {} is {}, which is out of range", name, value);
    return static_cast<std::uint32_t>(value);
}

std::string Node::pciAddress() const {
    if (!hasLocation)
        return {};
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
}

std::string Node::describe() const {
    if (!isGpu())
        return fmt::format("CPU node {}", id);
    return fmt::format("GPU {:#06x} (node {}{}{})", gpuId, id, hasLocation ? ", " : "", pciAddress());
}

std::vector<const Node*> Topology::gpus() const {
    std::vector<const Node*> found;
    for (const Node& node : nodes_)
        if (node.isGpu())
            found.push_back(&node);
    return found;
}

const Node* Topology::findGpu(GpuId id) const noexcept {
    const auto found =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.isGpu() && node.gpuId == id; });
    return found == nodes_.end() ? nullptr : &*found;
}

const Node* Topology::findMinor(std::uint32_t renderMinor) const noexcept {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const Node& node) { return node.isGpu() && node.renderMinor == renderMinor; });
    return found == nodes_.end() ? nullptr : &*found;
}

const Node* Topology::find(std::uint32_t nodeId) const noexcept {
    const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), nodeId,
                                        [](const Node& node, std::uint32_t id) { return node.id < id; });
    return found == nodes_.end() || found->id != nodeId ? nullptr : &*found;
}

Topology Topology::restrictedTo(const std::set<GpuId>& allowed) const {
    Topology less;
    for (const Node& node : nodes_)
        if (!node.isGpu() || allowed.contains(node.gpuId))
            less.add(node);
    less.dropDanglingLinks();
    return less;
}

const Node& Topology::named(std::string_view name) const {
    const auto number = [](std::string_view text, int base) -> std::optional<std::uint64_t> {
        kernel::Scanner scan(text);
        std::uint64_t value = 0;
        return scan.number(value, base) && scan.done() ? std::optional(value) : std::nullopt;
    };
    const bool hex = name.starts_with("0x");
    const bool unique = name.starts_with("GPU-");
    const std::string_view rest = name.substr(hex ? 2 : unique ? 4 : 0);
    const auto value = number(rest, hex || unique ? 16 : 10);
    std::vector<const Node*> found;
    for (const Node* const gpu : gpus())
        if ((unique ? value && gpu->uniqueId != 0 && gpu->uniqueId == *value : value && gpu->gpuId == *value) ||
            (gpu->hasLocation && gpu->pciAddress() == name))
            found.push_back(gpu);
    if (found.size() == 1)
        return *found.front();
    Error error(0, found.empty() ? fmt::format("there is no GPU '{}'", name)
                                 : fmt::format("'{}' is the name of several GPUs", name));
    std::string known;
    for (const Node* const gpu : found.empty() ? gpus() : found)
        known += fmt::format("{}{}{}", known.empty() ? "" : "; ", gpu->describe(),
                             gpu->uniqueId != 0 ? fmt::format(", GPU-{:016x}", gpu->uniqueId) : "");
    error.addHint(known.empty() ? "there are none at all" : known);
    throw error;
}

bool Topology::isBidirectional(const Node& from, const Link& link) const noexcept {
    const Node* const other = find(link.to);
    return other != nullptr && std::any_of(other->links.begin(), other->links.end(), [&](const Link& back) {
               return back.to == from.id && back.type == link.type;
           });
}

void Topology::add(Node node) {
    if (find(node.id) != nullptr)
        fail("node {} is there twice", node.id);
    if (node.isGpu()) {
        if (findGpu(node.gpuId) != nullptr)
            fail("GPU {:#06x} is there twice", node.gpuId);
    }
    const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), node.id,
                                     [](const Node& other, std::uint32_t id) { return other.id < id; });
    nodes_.insert(at, std::move(node));
}

void Topology::dropDanglingLinks() {
    std::set<std::uint32_t> ids;
    for (const Node& node : nodes_)
        ids.insert(node.id);
    for (Node& node : nodes_)
        std::erase_if(node.links, [&](const Link& link) { return !ids.contains(link.to); });
}

}  // namespace criu::amdgpu
