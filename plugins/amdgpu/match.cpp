// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/match.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "criu/base/error.hpp"
#include "plugins/amdgpu/options.hpp"

namespace criu::amdgpu {
namespace {

/// Maximum number of attempts: a search among sixteen different GPUs without a solution could take years.
constexpr unsigned kMaxMatchTries = 2'000'000;

enum class Relation : std::uint8_t { Equal, AtLeast };

struct Property {
    std::string_view name;
    std::uint64_t (*value)(const Node&);
    Relation relation = Relation::Equal;
    /// Member that switches the check off; null if criu always compares the property.
    bool MatchRules::*check = nullptr;
    std::string_view option = {};  ///< option that switches the check off
};

template <auto Member>
std::uint64_t value(const Node& node) {
    return node.*Member;
}

constexpr Property kProperties[] = {
    {"vendor_id", value<&Node::vendor>},
    {"device_id", value<&Node::device>},
    {"simd_count", value<&Node::simds>},
    {"mem_banks_count", value<&Node::memoryBanks>},
    {"max_waves_per_simd", value<&Node::maxWavesPerSimd>},
    {"lds_size_in_kb", value<&Node::ldsKb>},
    {"wave_front_size", value<&Node::waveFront>},
    {"array_count", value<&Node::arrays>},
    {"simd_arrays_per_engine", value<&Node::simdArraysPerEngine>},
    {"cu_per_simd_array", value<&Node::cusPerSimdArray>},
    {"simd_per_cu", value<&Node::simdsPerCu>},
    {"max_slots_scratch_cu", value<&Node::scratchSlotsPerCu>},
    {"num_sdma_engines", value<&Node::sdmaEngines>},
    {"num_sdma_xgmi_engines", value<&Node::sdmaXgmiEngines>},
    {"num_sdma_queues_per_engine", value<&Node::sdmaQueuesPerEngine>},
    {"num_cp_queues", value<&Node::cpQueues>},
    {"vram_public", value<&Node::vramPublic>},
    // The driver also counts links to GPUs that this process can't see. So a larger number is harmless.
    {"io_links_count", value<&Node::ioLinks>, Relation::AtLeast},
    {"capability", value<&Node::capability>, Relation::Equal, &MatchRules::capability, "--no-gpu-capability-check"},
    {"vram_size", value<&Node::vramSize>, Relation::AtLeast, &MatchRules::vram, "--no-gpu-vram-check"},
    {"num_gws", value<&Node::gws>, Relation::AtLeast, &MatchRules::gws, "--no-gpu-gws-check"},
    {"caches_count", value<&Node::caches>, Relation::AtLeast, &MatchRules::caches, "--no-gpu-caches-check"},
    {"fw_version", value<&Node::firmware>, Relation::AtLeast, &MatchRules::firmware, "--no-gpu-fw-check"},
    {"sdma_fw_version", value<&Node::sdmaFirmware>, Relation::AtLeast, &MatchRules::sdmaFirmware,
     "--no-gpu-sdma-fw-check"},
    {"number of visible links", [](const Node& node) -> std::uint64_t { return node.links.size(); }, Relation::AtLeast},
};

/// Returns the reason why a GPU can't replace another GPU, as the end of a sentence; nullopt if it can.
std::optional<std::string> obstacle(const Node& source, const Node& here, const MatchRules& rules) {
    if (!here.hasRenderNode())
        return "has no render node";
    for (const Property& property : kProperties) {
        if (property.check != nullptr && !(rules.*property.check))
            continue;
        const std::uint64_t wanted = property.value(source);
        const std::uint64_t given = property.value(here);
        if (property.relation == Relation::Equal ? wanted == given : wanted <= given)
            continue;
        return fmt::format(
            "has {} {}, {} is wanted{}{}{}", property.name, given,
            property.relation == Relation::Equal ? fmt::format("{}", wanted) : fmt::format("at least {}", wanted),
            property.option.empty() ? "" : " (", property.option, property.option.empty() ? "" : " allows it)");
    }
    return std::nullopt;
}

/// Reasons why GPUs can't replace a GPU, each with the number of GPUs. Eight cards may be 64 GPUs, so an error message
/// with one line for each GPU would be too long.
class Reasons {
public:
    void add(const Node& gpu, std::string why) {
        const auto known = std::find_if(found_.begin(), found_.end(), [&](const auto& one) { return one.why == why; });
        if (known != found_.end())
            ++known->others;
        else
            found_.push_back({gpu.describe(), std::move(why)});
    }
    /// Returns an empty text if there is no reason.
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& [gpu, why, others] : found_)
            text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", gpu, why,
                                others == 0 ? "" : fmt::format(", like {} others", others));
        return text;
    }

private:
    struct Reason {
        std::string gpu;
        std::string why;
        unsigned others = 0;  ///< number of further GPUs with this reason
    };
    std::vector<Reason> found_;
};

/// Finds hives: sets of GPUs that XGMI connects. Returns the number of the hive for each node id, and sets `sizes` to
/// the numbers of GPUs.
std::map<std::uint32_t, std::size_t> findHives(const Topology& topology, std::vector<std::size_t>& sizes) {
    std::map<std::uint32_t, std::size_t> hives;
    for (const Node* const start : topology.gpus()) {
        if (hives.contains(start->id))
            continue;
        std::vector<const Node*> found{start};
        hives.emplace(start->id, sizes.size());
        for (std::size_t at = 0; at < found.size(); ++at)
            for (const Link& link : found[at]->links) {
                const Node* const other = topology.find(link.to);
                if (link.type == LinkType::Xgmi && other->isGpu() && topology.isBidirectional(*found[at], link) &&
                    hives.emplace(other->id, sizes.size()).second)
                    found.push_back(other);
            }
        sizes.push_back(found.size());
    }
    return hives;
}

class Search {
public:
    Search(const Topology& source, const Topology& here, const MatchRules& rules)
        : source_(source), here_(here), rules_(rules) {
        sourceHives_ = findHives(source, sourceSizes_);
        hereHives_ = findHives(here, hereSizes_);
        order_ = source.gpus();
        // Large hives come first, because they have the fewest candidates.
        std::stable_sort(order_.begin(), order_.end(), [&](const Node* one, const Node* other) {
            return std::pair(~sourceSize(*one), hive(*one)) < std::pair(~sourceSize(*other), hive(*other));
        });
    }

    GpuMap run(const std::vector<model::GpuMapping>& wanted) {
        chooseCandidates(wanted);
        if (!place(0)) {
            Error error(0, exhausted_ ? "no assignment of GPUs was found in reasonable time"
                                      : "each GPU of the images fits one here, but not all of them together: their "
                                        "links to each other or to CPUs differ");
            error.addHint(rules_.numa ? "--no-gpu-numa-check passes over links to CPUs" : "see --gpu-map");
            throw error;
        }
        GpuMap map;
        for (const auto& [from, to] : placed_)
            map.emplace(from->gpuId, to->gpuId);
        return map;
    }

private:
    [[nodiscard]] std::size_t hive(const Node& node) const { return sourceHives_.at(node.id); }
    [[nodiscard]] std::size_t sourceSize(const Node& node) const { return sourceSizes_[hive(node)]; }

    static const Node& named(const Topology& topology, const std::string& name, const char* where) {
        const ErrorContext context([&] { return where; });
        return topology.named(name);
    }

    void chooseCandidates(const std::vector<model::GpuMapping>& wanted) {
        std::map<const Node*, const Node*> forced;
        std::set<const Node*> taken;
        for (const model::GpuMapping& mapping : wanted) {
            const ErrorContext context([&] { return fmt::format("--gpu-map {}={}", mapping.from, mapping.to); });
            const Node& from = named(source_, mapping.from, "in the images");
            const Node& to = named(here_, mapping.to, "on this machine");
            if (!forced.emplace(&from, &to).second)
                fail("the old one is mapped twice");
            if (!taken.insert(&to).second)
                fail("the new one is taken already");
        }
        for (const Node* const gpu : order_) {
            Reasons reasons;
            std::vector<const Node*>& found = candidates_[gpu];
            for (const Node* const other : here_.gpus()) {
                const auto force = forced.find(gpu);
                if (force != forced.end() ? force->second != other : taken.contains(other))
                    continue;
                if (const auto why = obstacle(*gpu, *other, rules_))
                    reasons.add(*other, *why);
                else if (sourceSize(*gpu) > hereSizes_[hereHives_.at(other->id)])
                    reasons.add(*other, fmt::format("has XGMI links to {} GPUs, {} are wanted",
                                                    hereSizes_[hereHives_.at(other->id)] - 1, sourceSize(*gpu) - 1));
                else
                    found.push_back(other);
            }
            if (found.empty())
                fail("no GPU here can take the place of {}: {}", gpu->describe(),
                     reasons.text().empty() ? "all are taken by --gpu-map" : reasons.text());
            std::stable_partition(found.begin(), found.end(),
                                  [&](const Node* other) { return other->gpuId == gpu->gpuId; });
        }
    }

    bool place(std::size_t at) {
        if (at == order_.size())
            return true;
        const Node& gpu = *order_[at];
        for (const Node* const other : candidates_.at(&gpu)) {
            if (++tries_ > kMaxMatchTries) {
                exhausted_ = true;
                return false;
            }
            if (used_.contains(other) || !sameHive(gpu, *other))
                continue;
            placed_.emplace(&gpu, other);
            used_.insert(other);
            if (placeLinks(gpu, *other, 0, at))
                return true;
            used_.erase(other);
            placed_.erase(&gpu);
        }
        return false;
    }

    /// Returns true if all GPUs that XGMI connected to `gpu` get replacements that XGMI connects to `other`.
    [[nodiscard]] bool sameHive(const Node& gpu, const Node& other) const {
        return std::all_of(placed_.begin(), placed_.end(), [&](const auto& placed) {
            return hive(*placed.first) != hive(gpu) || hereHives_.at(placed.second->id) == hereHives_.at(other.id);
        });
    }

    /// Assigns CPUs of this machine to the CPUs to which `gpu` is linked, from its link number `at` on. Then assigns
    /// all following GPUs.
    bool placeLinks(const Node& gpu, const Node& other, std::size_t at, std::size_t gpuAt) {
        while (at < gpu.links.size() && source_.find(gpu.links[at].to)->isGpu())
            ++at;
        if (at == gpu.links.size())
            return place(gpuAt + 1);
        const Link& link = gpu.links[at];
        const auto known = cpus_.find(link.to);
        for (const Link& candidate : other.links) {
            if (here_.find(candidate.to)->isGpu() || !fits(gpu, link, other, candidate))
                continue;
            if (!rules_.numa)
                // Without the NUMA check, any CPU of this machine is suitable.
                return placeLinks(gpu, other, at + 1, gpuAt);
            if (known != cpus_.end()) {
                if (candidate.to == known->second)
                    return placeLinks(gpu, other, at + 1, gpuAt);
                continue;
            }
            if (!usedCpus_.insert(candidate.to).second)
                continue;
            cpus_.emplace(link.to, candidate.to);
            if (placeLinks(gpu, other, at + 1, gpuAt))
                return true;
            cpus_.erase(link.to);
            usedCpus_.erase(candidate.to);
        }
        return false;
    }

    /// Returns true if the new link is at least as good as the old link: XGMI is better than PCIe.
    [[nodiscard]] bool fits(const Node& gpu, const Link& link, const Node& other, const Link& candidate) const {
        if (link.type == LinkType::Xgmi && candidate.type != LinkType::Xgmi)
            return false;
        return !source_.isBidirectional(gpu, link) || here_.isBidirectional(other, candidate);
    }

    const Topology& source_;
    const Topology& here_;
    const MatchRules& rules_;
    std::map<std::uint32_t, std::size_t> sourceHives_;
    std::map<std::uint32_t, std::size_t> hereHives_;
    std::vector<std::size_t> sourceSizes_;
    std::vector<std::size_t> hereSizes_;
    std::vector<const Node*> order_;
    std::map<const Node*, std::vector<const Node*>> candidates_;
    std::map<const Node*, const Node*> placed_;
    std::set<const Node*> used_;
    std::map<std::uint32_t, std::uint32_t> cpus_;
    std::set<std::uint32_t> usedCpus_;
    unsigned tries_ = 0;
    bool exhausted_ = false;
};

bool readSwitch(const std::optional<std::uint64_t>& option, const char* name,
                const std::function<const char*(const char*)>& environment) {
    if (option)
        return *option != 0;
    const char* const text = environment(name);
    if (text == nullptr)
        return true;
    std::string upper(text);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
    if (upper == "1" || upper == "YES")
        return true;
    if (upper == "0" || upper == "NO")
        return false;
    fail("{} is '{}', use 0, 1, NO or YES", name, text);
}

}  // namespace

MatchRules MatchRules::from(const model::Options& options, const std::function<const char*(const char*)>& environment) {
    MatchRules rules;
    rules.firmware = readSwitch(valueOf(Option::FirmwareCheck, options), "KFD_FW_VER_CHECK", environment);
    rules.sdmaFirmware = readSwitch(valueOf(Option::SdmaFirmwareCheck, options), "KFD_SDMA_FW_VER_CHECK", environment);
    rules.caches = readSwitch(valueOf(Option::CachesCheck, options), "KFD_CACHES_COUNT_CHECK", environment);
    rules.gws = readSwitch(valueOf(Option::GwsCheck, options), "KFD_NUM_GWS_CHECK", environment);
    rules.vram = readSwitch(valueOf(Option::VramCheck, options), "KFD_VRAM_SIZE_CHECK", environment);
    rules.numa = readSwitch(valueOf(Option::NumaCheck, options), "KFD_NUMA_CHECK", environment);
    rules.capability = readSwitch(valueOf(Option::CapabilityCheck, options), "KFD_CAPABILITY_CHECK", environment);
    return rules;
}

GpuMap matchGpus(const Topology& source, const Topology& here, const MatchRules& rules,
                 const std::vector<model::GpuMapping>& wanted) {
    const auto all = here.gpus();
    const auto had = static_cast<std::ptrdiff_t>(source.gpus().size());
    const auto have = std::count_if(all.begin(), all.end(), [](const Node* gpu) { return gpu->hasRenderNode(); });
    if (had > have) {
        Error error(0, fmt::format("the process had {} GPUs, and {} can be used here", had, have));
        error.addHint("a process can't be restored on fewer GPUs than it had");
        throw error;
    }
    return Search(source, here, rules).run(wanted);
}

}  // namespace criu::amdgpu
