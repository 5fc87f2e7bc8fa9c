// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/match.hpp"

#include <algorithm>
#include <set>

#include "criu/base/error.hpp"

namespace criu::cuda {
namespace {

const Gpu* find(const std::vector<Gpu>& gpus, std::string_view uuid) {
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.uuid == uuid; });
    return found == gpus.end() ? nullptr : &*found;
}

/// A GPU as --gpu-map calls it: by its UUID, or by its place in the list.
const Gpu& named(const std::vector<Gpu>& gpus, const std::string& name, std::string_view where) {
    if (const Gpu* const gpu = find(gpus, name))
        return *gpu;
    if (name.size() < 4 && !name.empty() && name.find_first_not_of("0123456789") == std::string::npos)
        if (const std::size_t index = std::stoul(name); index < gpus.size())
            return gpus[index];
    fail("--gpu-map: there is no GPU {} {}", name, where);
}

}  // namespace

std::map<std::string, std::string> matchGpus(const std::vector<Gpu>& then, const std::vector<Gpu>& now,
                                             const std::vector<model::GpuMapping>& wanted) {
    std::map<std::string, std::string> chosen;
    std::set<std::string> taken;
    const auto choose = [&](const Gpu& from, const Gpu& to) {
        if (from.model != to.model)
            fail("what was on a {} can't be put on a {}", from.model, to.model);
        if (!taken.insert(to.uuid).second)
            fail("two GPUs of the images would become {}", to.uuid);
        chosen[from.uuid] = to.uuid;
    };
    for (const model::GpuMapping& mapping : wanted)
        choose(named(then, mapping.from, "in the images"), named(now, mapping.to, "here"));
    for (const Gpu& gpu : then)
        if (!chosen.contains(gpu.uuid) && find(now, gpu.uuid) != nullptr && !taken.contains(gpu.uuid))
            choose(gpu, gpu);
    for (const Gpu& gpu : then) {
        if (chosen.contains(gpu.uuid))
            continue;
        const auto other = std::find_if(now.begin(), now.end(), [&](const Gpu& candidate) {
            return candidate.model == gpu.model && !taken.contains(candidate.uuid);
        });
        if (other != now.end())
            choose(gpu, *other);
    }
    return chosen;
}

}  // namespace criu::cuda
