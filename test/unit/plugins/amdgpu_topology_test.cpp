// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "amdgpu_machine.hpp"
#include "criu/base/error.hpp"

using namespace criu;
using namespace criu::amdgpu;
using namespace criu::amdgpu::test;

namespace {

void requireSame(const Node& one, const Node& other) {
    CHECK(one.id == other.id);
    CHECK(one.gpuId == other.gpuId);
    CHECK(one.cpuCores == other.cpuCores);
    CHECK(one.simds == other.simds);
    CHECK(one.caches == other.caches);
    CHECK(one.renderMinor == other.renderMinor);
    CHECK(one.firmware == other.firmware);
    CHECK(one.sdmaFirmware == other.sdmaFirmware);
    CHECK(one.vramSize == other.vramSize);
    CHECK(one.vramPublic == other.vramPublic);
    CHECK(one.uniqueId == other.uniqueId);
    CHECK(one.pciAddress() == other.pciAddress());
    REQUIRE(one.links.size() == other.links.size());
    for (std::size_t at = 0; at < one.links.size(); ++at) {
        CHECK(one.links[at].to == other.links[at].to);
        CHECK(one.links[at].type == other.links[at].type);
    }
}

}  // namespace

TEST_CASE("amdgpu: a machine's sysfs tree is read back unchanged") {
    const auto [gpus, hive] = GENERATE(table<std::uint32_t, std::uint32_t>({{0, 1}, {1, 1}, {2, 2}, {4, 2}, {8, 8}}));
    const Machine machine = Machine::make(gpus > 2 ? kMi300x : kMi50, 2, gpus, hive);
    const Sysfs sysfs(machine);
    const Topology read = Topology::read(sysfs.root());
    REQUIRE(read.nodes().size() == machine.nodes.size());
    for (std::size_t at = 0; at < machine.nodes.size(); ++at)
        requireSame(read.nodes()[at], machine.nodes[at]);
}

TEST_CASE("amdgpu: node ids may have holes, and links to what can't be seen are dropped") {
    const Machine machine = Machine::make(kMi100, 1, 4, 4);
    const Sysfs sysfs(machine);
    std::filesystem::remove_all(sysfs.node(2));
    Sysfs::put(sysfs.node(3) + "/gpu_id", "");  // a device cgroup has this effect
    const Topology read = Topology::read(sysfs.root());
    CHECK(read.gpus().size() == 2);
    CHECK(read.find(2) == nullptr);
    CHECK(read.find(1)->links.size() == 2);  // the CPU and node 4
    CHECK(read.find(4)->ioLinks == 4);       // the driver's count is unchanged
    CHECK(read.isBidirectional(*read.find(1), read.find(1)->links[0]));
}

TEST_CASE("amdgpu: a link in one direction only isn't bidirectional") {
    Machine machine = Machine::make(kMi50, 1, 2, 2);
    machine.nodes[0].links.clear();
    const Topology topology = machine.topology();
    const Node& gpu = *topology.findGpu(0x1000);
    CHECK_FALSE(topology.isBidirectional(gpu, gpu.links[0]));
    CHECK(topology.isBidirectional(gpu, gpu.links[1]));
}

TEST_CASE("amdgpu: malformed sysfs files are refused with their name") {
    const Machine machine = Machine::make(kMi50, 1, 2);
    const Sysfs sysfs(machine);
    SECTION("not a number") {
        Sysfs::put(sysfs.node(1) + "/properties", "simd_count many\n");
    }
    SECTION("two numbers") {
        Sysfs::put(sysfs.node(1) + "/properties", "simd_count 1 2\n");
    }
    SECTION("out of range") {
        Sysfs::put(sysfs.node(1) + "/properties", "drm_render_minor 99999999999\n");
    }
    SECTION("a strange id") {
        Sysfs::put(sysfs.node(1) + "/gpu_id", "seven\n");
    }
    SECTION("two GPUs of one id") {
        Sysfs::put(sysfs.node(2) + "/gpu_id", "4096\n");
    }
    CHECK_THROWS_WITH(Topology::read(sysfs.root()), Catch::Contains("/nodes/"));
}

TEST_CASE("amdgpu: a minor beyond those of render nodes is none") {
    const Machine machine = Machine::make(kMi50, 1, 2);
    const Sysfs sysfs(machine);
    Sysfs::put(sysfs.node(1) + "/properties", "drm_render_minor 5\n");
    Sysfs::put(sysfs.node(2) + "/properties", "drm_render_minor 300\n");  // since Linux 6.12
    const Topology topology = Topology::read(sysfs.root());
    CHECK_FALSE(topology.find(1)->hasRenderNode());
    CHECK(topology.find(2)->hasRenderNode());
}

TEST_CASE("amdgpu: no driver, no nodes") {
    CHECK(Topology::read("/nonexistent").nodes().empty());
}

TEST_CASE("amdgpu: GPUs by name") {
    const Topology topology = Machine::make(kMi50, 1, 2).topology();
    CHECK(topology.named("4096").gpuId == 0x1000);
    CHECK(topology.named("0x1001").gpuId == 0x1001);
    CHECK(topology.named("GPU-abc0000000001001").gpuId == 0x1001);
    CHECK(topology.named("0000:0b:00.0").gpuId == 0x1001);
    CHECK_THROWS_WITH(topology.named("0x9999"), Catch::Contains("no GPU '0x9999'") && Catch::Contains("0x1000"));
    CHECK_THROWS_AS(topology.named(""), Error);
}

TEST_CASE("amdgpu: a topology goes to an image and back, with the ids that the process knows") {
    const Machine machine = Machine::make(kMi200, 2, 4, 2);
    const Topology topology = machine.topology();
    Arena arena;
    auto& image = *arena.make<CriuKfd>();
    topology.toImage({{0x1000, 0x7000}, {0x1001, 0x1001}, {0x1002, 0x1002}, {0x1003, 0x1003}}, image, arena);
    CHECK(image.num_of_gpus == 4);
    CHECK(image.num_of_cpus == 2);
    const Topology back = Topology::fromImage(image);
    REQUIRE(back.findGpu(0x7000) != nullptr);
    Node expected = machine.nodes[2];
    expected.gpuId = 0x7000;
    requireSame(*back.findGpu(0x7000), expected);

    SECTION("a process that has some of the GPUs only") {
        auto& some = *arena.make<CriuKfd>();
        topology.toImage({{0x1001, 0x1001}}, some, arena);
        const Topology less = Topology::fromImage(some);
        CHECK(less.gpus().size() == 1);
        CHECK(less.findGpu(0x1001)->links.size() == 1);  // the link to its CPU
    }
    SECTION("one that isn't there") {
        CHECK_THROWS_WITH(topology.toImage({{0x4242, 0x4242}}, *arena.make<CriuKfd>(), arena),
                          Catch::Contains("0x4242"));
    }
    SECTION("an image that contradicts itself") {
        image.num_of_gpus = 3;
        CHECK_THROWS_AS(Topology::fromImage(image), Error);
        image.num_of_gpus = 4;
        image.device_entries[3]->node_id = image.device_entries[2]->node_id;
        CHECK_THROWS_AS(Topology::fromImage(image), Error);
    }
}
