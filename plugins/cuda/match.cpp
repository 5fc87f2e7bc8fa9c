// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/match.hpp"

#include <algorithm>
#include <set>

#include "criu/base/error.hpp"

namespace criu::cuda {
namespace {

bool hasUuid(const std::vector<Gpu>& gpus, std::string_view uuid) {
    return std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.uuid == uuid; });
}

/// Returns true if `one` has more memory than `other`. Returns false if one of the sizes is unknown.
bool isLarger(const Gpu& one, const Gpu& other) {
    return one.memory > other.memory && other.memory != 0;
}

}  // namespace

const Gpu* findGpu(const std::vector<Gpu>& gpus, const std::string& name) {
    for (const Gpu& gpu : gpus)
        if (gpu.uuid == name)
            return &gpu;
    if (name.size() < 4 && !name.empty() && name.find_first_not_of("0123456789") == std::string::npos) {
        const std::size_t index = std::stoul(name);
        return index < gpus.size() ? &gpus[index] : nullptr;
    }
    const Gpu* found = nullptr;
    for (const Gpu& gpu : gpus) {
        if (gpu.model != name)
            continue;
        if (found != nullptr)
            fail("--gpu-map: '{}' is the name of several GPUs: give UUIDs", name);
        found = &gpu;
    }
    return found;
}

std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted) {
    std::map<std::string, std::string> chosen;
    std::set<std::string> taken;
    const auto choose = [&](const Gpu& from, const Gpu& to) {
        if (from.model != to.model)
            fail("contents of a {} can't be put on a {}", from.model, to.model);
        if (from.uuid != to.uuid && isLarger(from, to))
            fail("contents of a GPU of {} MiB can't be put on one of {} MiB", from.memory >> 20, to.memory >> 20);
        if (!taken.insert(to.uuid).second)
            fail("two GPUs of the images would become {}", to.uuid);
        chosen[from.uuid] = to.uuid;
    };
    for (const model::GpuMapping& mapping : wanted) {
        const Gpu* const from = findGpu(then, mapping.from);
        if (from == nullptr)
            continue;
        const Gpu* const to = findGpu(now, mapping.to);
        if (to == nullptr)
            fail("--gpu-map: there is no GPU {} here", mapping.to);
        choose(*from, *to);
    }
    for (const Gpu& gpu : then)
        if (!chosen.contains(gpu.uuid) && hasUuid(now, gpu.uuid) && !taken.contains(gpu.uuid))
            choose(gpu, gpu);
    for (const Gpu& gpu : then) {
        if (chosen.contains(gpu.uuid))
            continue;
        const auto other = std::find_if(now.begin(), now.end(), [&](const Gpu& candidate) {
            return candidate.model == gpu.model && !isLarger(gpu, candidate) && !taken.contains(candidate.uuid);
        });
        if (other != now.end())
            choose(gpu, *other);
    }
    return chosen;
}

}  // namespace criu::cuda
