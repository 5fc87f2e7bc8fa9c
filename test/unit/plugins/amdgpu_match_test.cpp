// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "amdgpu_machine.hpp"
#include "criu/base/error.hpp"
#include "plugins/amdgpu/match.hpp"
#include "plugins/amdgpu/options.hpp"

using namespace criu;
using namespace criu::amdgpu;
using namespace criu::amdgpu::test;
using Catch::Contains;

namespace {

GpuMap match(const Machine& source, const Machine& here, const MatchRules& rules = {},
             const std::vector<model::GpuMapping>& wanted = {}) {
    return matchGpus(source.topology(), here.topology(), rules, wanted);
}

void requireOneToOne(const GpuMap& map, std::size_t size) {
    std::set<GpuId> used;
    for (const auto& [from, to] : map)
        used.insert(to);
    REQUIRE(map.size() == size);
    REQUIRE(used.size() == size);
}

}  // namespace

TEST_CASE("amdgpu: the same machine: every GPU stays") {
    const auto [gpus, hive] =
        GENERATE(table<std::uint32_t, std::uint32_t>({{1, 1}, {2, 1}, {2, 2}, {4, 2}, {4, 4}, {8, 1}, {8, 4}, {8, 8}}));
    const Machine machine = Machine::make(kMi300x, gpus > 1 ? 2 : 1, gpus, hive);
    for (const auto& [from, to] : match(machine, machine))
        CHECK(from == to);
}

TEST_CASE("amdgpu: another machine of the same kind, with other ids") {
    const std::uint32_t gpus = GENERATE(1U, 2U, 4U, 8U);
    const Machine source = Machine::make(kMi100, 1, gpus, gpus);
    Machine here = Machine::make(kMi100, 1, gpus, gpus, 0x5000);
    requireOneToOne(match(source, here), gpus);

    SECTION("and its GPUs in another order") {
        for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
            here.gpu(gpu).gpuId = 0x1000 + gpus - 1 - gpu;
        for (const auto& [from, to] : match(source, here))
            CHECK(from == to);
    }
}

TEST_CASE("amdgpu: different GPUs find their like") {
    Machine source = Machine::make(kMi50, 1, 2);
    Machine here = Machine::make(kMi50, 1, 2, 1, 0x5000);
    source.gpu(0).device = here.gpu(1).device = 0x66a0;
    const GpuMap map = match(source, here);
    CHECK(map.at(0x1000) == 0x5001);
    CHECK(map.at(0x1001) == 0x5000);
}

TEST_CASE("amdgpu: a choice that leads nowhere is taken back") {
    // The first GPU fits both; the second one fits only the GPU that the first would choose.
    Machine source = Machine::make(kMi50, 1, 2);
    Machine here = Machine::make(kMi50, 1, 2, 1, 0x5000);
    source.gpu(1).vramSize *= 2;
    here.gpu(0).vramSize *= 2;
    const GpuMap map = match(source, here);
    CHECK(map.at(0x1000) == 0x5001);
    CHECK(map.at(0x1001) == 0x5000);
}

TEST_CASE("amdgpu: GPUs of one hive go to one hive") {
    const Machine source = Machine::make(kMi200, 1, 4, 2);
    Machine here = Machine::make(kMi200, 1, 4, 2, 0x5000);
    SECTION("whose members stand elsewhere") {
        // Nodes 0 and 2, and nodes 1 and 3 are joined.
        for (Node& node : here.nodes)
            std::erase_if(node.links, [](const Link& link) { return link.type == LinkType::Xgmi; });
        joinBoth(here.gpu(0), here.gpu(2), LinkType::Xgmi);
        joinBoth(here.gpu(1), here.gpu(3), LinkType::Xgmi);
    }
    SECTION("as they stand") {}
    const GpuMap map = match(source, here);
    requireOneToOne(map, 4);
    const Topology topology = here.topology();
    for (const GpuId first : {0x1000U, 0x1002U}) {
        const Node& one = *topology.findGpu(map.at(first));
        const Node& other = *topology.findGpu(map.at(first + 1));
        CHECK(std::any_of(one.links.begin(), one.links.end(),
                          [&](const Link& link) { return link.to == other.id && link.type == LinkType::Xgmi; }));
    }
}

TEST_CASE("amdgpu: several hives, of which the first that fits is the wrong one") {
    // A hive of two and one of three: the pair must not get GPUs of the hive of three.
    Machine source = Machine::make(kMi300x, 1, 5);
    Machine here = Machine::make(kMi300x, 1, 5, 1, 0x5000);
    joinBoth(source.gpu(0), source.gpu(1), LinkType::Xgmi);
    joinBoth(here.gpu(3), here.gpu(4), LinkType::Xgmi);
    for (const auto& [machine, first] : {std::pair(&source, 2U), std::pair(&here, 0U)})
        for (const auto& [a, b] : {std::pair(0U, 1U), std::pair(0U, 2U), std::pair(1U, 2U)})
            joinBoth(machine->gpu(first + a), machine->gpu(first + b), LinkType::Xgmi);
    for (Machine* const machine : {&source, &here})
        for (std::size_t gpu = 0; gpu < 5; ++gpu)
            machine->gpu(gpu).ioLinks = 3;
    const GpuMap map = match(source, here);
    CHECK(map.at(0x1000) >= 0x5003);
    CHECK(map.at(0x1001) >= 0x5003);
    CHECK(map.at(0x1002) < 0x5003);
}

TEST_CASE("amdgpu: a hive that isn't there") {
    const Machine source = Machine::make(kMi200, 1, 2, 2);
    Machine here = Machine::make(kMi200, 1, 2, 1, 0x5000);
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
        here.gpu(gpu).ioLinks = 2;
        here.gpu(gpu).links.push_back(here.gpu(gpu).links.front());
    }
    CHECK_THROWS_WITH(match(source, here), Contains("XGMI") && Contains("0x1000"));
}

TEST_CASE("amdgpu: GPUs of one CPU node stay together") {
    const Machine source = Machine::make(kMi100, 2, 4);  // 0 and 1 on CPU 0, 2 and 3 on CPU 1
    Machine here = Machine::make(kMi100, 2, 4, 1, 0x5000);
    SECTION("where others are neighbours") {
        for (Node& node : here.nodes)
            node.links.clear();
        for (std::size_t gpu = 0; gpu < 4; ++gpu)
            joinBoth(here.gpu(gpu), here.nodes[gpu % 2], LinkType::Pcie);
        const GpuMap map = match(source, here);
        requireOneToOne(map, 4);
        const Topology topology = here.topology();
        const auto cpuOf = [&](GpuId gpu) { return topology.findGpu(map.at(gpu))->links.front().to; };
        CHECK(cpuOf(0x1000) == cpuOf(0x1001));
        CHECK(cpuOf(0x1002) == cpuOf(0x1003));
        CHECK(cpuOf(0x1000) != cpuOf(0x1002));
    }
    SECTION("where there is no room for that") {
        for (Node& node : here.nodes)
            node.links.clear();
        for (std::size_t gpu = 0; gpu < 4; ++gpu)
            joinBoth(here.gpu(gpu), here.nodes[gpu == 0 ? 0 : 1], LinkType::Pcie);
        CHECK_THROWS_WITH(match(source, here), Contains("--no-gpu-numa-check"));
        MatchRules rules;
        rules.numa = false;
        requireOneToOne(match(source, here, rules), 4);
    }
}

TEST_CASE("amdgpu: links may get better, not worse") {
    Machine pcie = Machine::make(kMi200, 1, 1);
    Machine xgmi = pcie;
    xgmi.nodes[0].links[0].type = xgmi.nodes[1].links[0].type = LinkType::Xgmi;
    requireOneToOne(match(pcie, xgmi), 1);
    CHECK_THROWS_AS(match(xgmi, pcie), Error);
    Machine oneWay = pcie;
    oneWay.nodes[0].links.clear();
    requireOneToOne(match(oneWay, pcie), 1);
    CHECK_THROWS_AS(match(pcie, oneWay), Error);
}

TEST_CASE("amdgpu: what doesn't fit is named, with both values and the option that allows it") {
    const Machine source = Machine::make(kMi50, 1, 1);
    Machine here = Machine::make(kMi50, 1, 1, 1, 0x5000);
    MatchRules rules;
    std::string expected;
    std::string option;
    SECTION("older firmware") {
        here.gpu(0).firmware = 59;
        expected = "fw_version 59, at least 60 is wanted";
        option = "--no-gpu-fw-check";
        rules.firmware = false;
    }
    SECTION("older firmware of the copy engines") {
        here.gpu(0).sdmaFirmware = 19;
        expected = "sdma_fw_version 19, at least 20 is wanted";
        option = "--no-gpu-sdma-fw-check";
        rules.sdmaFirmware = false;
    }
    SECTION("less memory") {
        here.gpu(0).vramSize -= 4096;
        expected = "vram_size 17179865088, at least 17179869184 is wanted";
        option = "--no-gpu-vram-check";
        rules.vram = false;
    }
    SECTION("fewer caches") {
        here.gpu(0).caches = 1;
        expected = "caches_count 1, at least 91 is wanted";
        option = "--no-gpu-caches-check";
        rules.caches = false;
    }
    SECTION("less GWS") {
        here.gpu(0).gws = 0;
        expected = "num_gws 0, at least 64 is wanted";
        option = "--no-gpu-gws-check";
        rules.gws = false;
    }
    SECTION("other capabilities") {
        here.gpu(0).capability = 1;
        expected = "capability 1, 8192 is wanted";
        option = "--no-gpu-capability-check";
        rules.capability = false;
    }
    CHECK_THROWS_WITH(match(source, here),
                      Contains("GPU 0x1000") && Contains("GPU 0x5000") && Contains(expected) && Contains(option));
    requireOneToOne(match(source, here, rules), 1);
}

TEST_CASE("amdgpu: what may be better may") {
    const Machine source = Machine::make(kMi50, 1, 1);
    Machine here = Machine::make(kMi50, 1, 1, 1, 0x5000);
    Node& gpu = here.gpu(0);
    ++gpu.firmware;
    ++gpu.sdmaFirmware;
    gpu.vramSize *= 2;
    ++gpu.gws;
    ++gpu.caches;
    gpu.hive = 7;
    gpu.domain = 3;
    gpu.renderMinor = 140;
    requireOneToOne(match(source, here), 1);
}

TEST_CASE("amdgpu: what must be equal must be, whatever is switched off") {
    const Machine source = Machine::make(kMi50, 1, 1);
    Machine here = Machine::make(kMi50, 1, 1);
    auto member = GENERATE(&Node::simds, &Node::memoryBanks, &Node::maxWavesPerSimd, &Node::ldsKb, &Node::waveFront,
                           &Node::arrays, &Node::simdArraysPerEngine, &Node::cusPerSimdArray, &Node::simdsPerCu,
                           &Node::scratchSlotsPerCu, &Node::vendor, &Node::device, &Node::sdmaEngines,
                           &Node::sdmaXgmiEngines, &Node::sdmaQueuesPerEngine, &Node::cpQueues, &Node::vramPublic);
    here.gpu(0).*member += 1;
    CHECK_THROWS_AS(match(source, here, MatchRules{false, false, false, false, false, false, false}), Error);
}

TEST_CASE("amdgpu: there may be more GPUs than were in use, not fewer") {
    CHECK_THROWS_WITH(match(Machine::make(kMi50, 1, 2), Machine::make(kMi50, 1, 1)),
                      Contains("had 2") && Contains("1 can"));
    requireOneToOne(match(Machine::make(kMi50, 1, 1), Machine::make(kMi50, 1, 2)), 1);
    const Machine source = Machine::make(kMi50, 1, 1);
    const Machine here = Machine::make(kMi50, 2, 8, 1, 0x5000);
    CHECK(match(source, here, {}, {{"0x1000", "0x5006"}}).at(0x1000) == 0x5006);
}

TEST_CASE("amdgpu: the same reason of many GPUs is told once") {
    const Machine source = Machine::make(kMi100, 1, 1);
    CHECK_THROWS_WITH(match(source, Machine::make(kMi50, 1, 8, 1, 0x5000)),
                      Contains("GPU 0x5000") && Contains("like 7 others") && !Contains("0x5001"));
}

TEST_CASE("amdgpu: --gpu-map is obeyed") {
    const Machine source = Machine::make(kMi100, 1, 4);
    const Machine here = Machine::make(kMi100, 1, 4, 1, 0x5000);
    const GpuMap map = match(source, here, {}, {{"0x1000", "0x5003"}, {"4097", "GPU-abc0000000005000"}});
    requireOneToOne(map, 4);
    CHECK(map.at(0x1000) == 0x5003);
    CHECK(map.at(0x1001) == 0x5000);
    CHECK(match(source, here, {}, {{"0000:0b:00.0", "0000:0a:00.0"}}).at(0x1001) == 0x5000);

    CHECK_THROWS_WITH(match(source, here, {}, {{"0x9", "0x5000"}}), Contains("--gpu-map") && Contains("images"));
    CHECK_THROWS_WITH(match(source, here, {}, {{"0x1000", "0x9"}}), Contains("this machine"));
    CHECK_THROWS_WITH(match(source, here, {}, {{"0x1000", "0x5000"}, {"0x1001", "0x5000"}}), Contains("taken"));
    CHECK_THROWS_WITH(match(source, here, {}, {{"0x1000", "0x5000"}, {"0x1000", "0x5001"}}), Contains("twice"));
}

TEST_CASE("amdgpu: sixteen GPUs that can't be matched are refused in time") {
    const Machine source = Machine::make(kMi300x, 2, 16);
    Machine here = Machine::make(kMi300x, 2, 16, 1, 0x5000);
    for (Node& node : here.nodes)
        node.links.clear();
    for (std::size_t gpu = 0; gpu < 16; ++gpu)
        joinBoth(here.gpu(gpu), here.nodes[gpu < 7 ? 0 : 1], LinkType::Pcie);
    CHECK_THROWS_AS(match(source, here), Error);
}

TEST_CASE("amdgpu: checks are switched by options, else by the environment") {
    const auto environment = [](const char* name) -> const char* {
        const std::string_view wanted(name);
        return wanted == "KFD_FW_VER_CHECK"      ? "0"
               : wanted == "KFD_NUMA_CHECK"      ? "no"
               : wanted == "KFD_VRAM_SIZE_CHECK" ? "YES"
                                                 : nullptr;
    };
    model::Options options;
    MatchRules rules = MatchRules::from(options, environment);
    CHECK_FALSE(rules.firmware);
    CHECK_FALSE(rules.numa);
    CHECK(rules.vram);
    CHECK(rules.capability);
    kOptions[static_cast<std::size_t>(Option::FirmwareCheck)].set(options, 1);
    kOptions[static_cast<std::size_t>(Option::VramCheck)].set(options, 0);
    rules = MatchRules::from(options, environment);
    CHECK(rules.firmware);
    CHECK_FALSE(rules.vram);
    CHECK_THROWS_WITH(MatchRules::from({}, [](const char*) { return "perhaps"; }), Contains("perhaps"));
}
