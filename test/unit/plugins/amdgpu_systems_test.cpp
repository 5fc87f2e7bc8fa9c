// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "amdgpu_system_files.hpp"
#include "criu/image/arena.hpp"
#include "plugins/amdgpu/match.hpp"

using namespace criu;
using namespace criu::amdgpu;
using namespace criu::amdgpu::test;
using Catch::Contains;

namespace {

/// Folder of the systems. A machine without the source tree names a copy in its environment.
const std::string kFolder =
    std::getenv("CRIU_TEST_TOPOLOGIES") != nullptr ? std::getenv("CRIU_TEST_TOPOLOGIES") : CRIU_TEST_TOPOLOGIES;

/// Reads the topologies of all systems.
std::map<std::string, Topology> systems() {
    std::map<std::string, Topology> found;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder))
        if (entry.path().extension() == ".txt")
            found.emplace(entry.path().stem().string(), Topology::read(SystemFiles(entry.path().string()).root()));
    return found;
}

/// Returns the topology that images contain if processes used all usable GPUs.
Topology imaged(const Topology& here) {
    Arena arena;
    auto& image = *arena.make<CriuKfd>();
    std::vector<Topology::ImageGpu> gpus;
    for (const Node* const gpu : here.gpus())
        if (gpu->hasRenderNode())
            gpus.push_back({gpu->gpuId, gpu->gpuId});
    here.toImage(gpus, image, arena);
    return Topology::fromImage(image);
}

/// Returns "fits", or the text of the error.
std::string outcome(const Topology& source, const Topology& here) {
    try {
        const GpuMap map = matchGpus(source, here, MatchRules{}, {});
        std::set<GpuId> used;
        for (const auto& [from, to] : map) {
            CHECK(here.findGpu(to) != nullptr);
            used.insert(to);
        }
        CHECK(used.size() == source.gpus().size());
        CHECK(map.size() == source.gpus().size());
        return "fits";
    } catch (const Error& error) {
        return error.what();
    }
}

struct Pair {
    std::string source;
    std::string here;
    std::string expected;
};

std::vector<Pair> pairs() {
    std::ifstream file(kFolder + "/pairs");
    REQUIRE(file);
    std::vector<Pair> found;
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#')
            continue;
        std::istringstream words(line);
        Pair pair;
        words >> pair.source >> pair.here >> std::ws;
        std::getline(words, pair.expected);
        found.push_back(std::move(pair));
    }
    return found;
}

}  // namespace

TEST_CASE("amdgpu: systems as bug reports and test data show them are read") {
    const auto all = systems();
    const auto count = [&](const char* name) { return all.at(name).gpus().size(); };
    CHECK(count("mi50-2") == 2);
    CHECK(count("mi250-4") == 8);
    CHECK(count("mi300x-8-cpx-nps4") == 64);
    CHECK(count("mi300x-1-of-8") == 1);
    const Node& visible = *all.at("mi300x-1-of-8").gpus().front();
    CHECK(visible.ioLinks == 8);
    CHECK(visible.links.size() == 1);
    const Node& apu = *all.at("mi300a-4").gpus().front();
    CHECK(apu.pciAddress() == "0000:02:00.0");
    CHECK(apu.links.size() == 4);
    CHECK(apu.caches == 470);
}

TEST_CASE("amdgpu: a GPU without a render node is ignored") {
    const auto all = systems();
    const Topology& desktop = all.at("mi50-renoir");
    REQUIRE(desktop.gpus().size() == 2);
    CHECK_FALSE(desktop.gpus().back()->hasRenderNode());
    CHECK(imaged(desktop).gpus().size() == 1);
    CHECK(matchGpus(imaged(desktop), desktop, {}, {}) == GpuMap{{51140, 51140}});
}

TEST_CASE("amdgpu: each system is restored on each other one, or refused for the reason that is so") {
    const auto all = systems();
    std::set<std::pair<std::string, std::string>> seen;
    for (const Pair& pair : pairs()) {
        REQUIRE(all.contains(pair.source));
        const Topology source = imaged(all.at(pair.source));
        // "-" means all systems that no other line of this source names.
        for (const auto& [name, here] : all) {
            if (pair.here == "-" ? seen.contains({pair.source, name}) : pair.here != name)
                continue;
            CHECK(seen.emplace(pair.source, name).second);
            INFO(pair.source << " on " << name);
            const std::string said = outcome(source, here);
            if (pair.expected == "fits")
                CHECK(said == "fits");
            else
                CHECK_THAT(said, Contains(pair.expected) && !Contains("reasonable time"));
        }
    }
    for (const auto& [source, topology] : all)
        for (const auto& [here, other] : all) {
            INFO(source << " on " << here << " is in no line of pairs");
            CHECK(seen.contains({source, here}));
        }
}

TEST_CASE("amdgpu: partitions of one card have its serial number, which names none of them") {
    const Topology machine = systems().at("mi300x-8-cpx-nps4");
    CHECK_THROWS_WITH(machine.named("GPU-3cbd000000002100"), Contains("several") && Contains("0x03e8"));
    CHECK(machine.named("0000:05:00.1").gpuId == 1000 + 919);
}
