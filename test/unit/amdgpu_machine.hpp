// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "plugins/amdgpu/topology.hpp"

/// Fictitious machines with GPUs, as topologies and as sysfs trees.
namespace criu::amdgpu::test {

/// Properties in which generations of GPUs differ.
struct Model {
    std::uint32_t device;
    std::uint32_t simds;
    std::uint32_t arrays;
    std::uint32_t caches;
    std::uint32_t sdmaEngines;
    std::uint32_t sdmaXgmi;
    std::uint64_t vramGib;
    std::uint32_t capability;
};
inline constexpr Model kMi50{0x66af, 240, 4, 91, 2, 0, 16, 0x2000};
inline constexpr Model kMi100{0x738c, 480, 8, 184, 2, 6, 32, 0x4000};
inline constexpr Model kMi200{0x740f, 416, 8, 160, 2, 3, 64, 0x5000};
inline constexpr Model kMi300x{0x74a1, 1216, 32, 500, 2, 14, 192, 0x6000};

inline Node cpuNode(std::uint32_t id) {
    Node node;
    node.id = id;
    node.cpuCores = 16;
    return node;
}

/// Returns GPU `number` (from 0) of a machine, at node `id`.
inline Node gpuNode(const Model& model, std::uint32_t id, std::uint32_t number, GpuId gpuId) {
    Node node;
    node.id = id;
    node.gpuId = gpuId;
    node.simds = model.simds;
    node.memoryBanks = 1;
    node.caches = model.caches;
    node.maxWavesPerSimd = 10;
    node.ldsKb = 64;
    node.gws = 64;
    node.waveFront = 64;
    node.arrays = model.arrays;
    node.simdArraysPerEngine = 1;
    node.cusPerSimdArray = 16;
    node.simdsPerCu = 4;
    node.scratchSlotsPerCu = 32;
    node.vendor = 0x1002;
    node.device = model.device;
    node.renderMinor = 128 + number;
    node.sdmaEngines = model.sdmaEngines;
    node.sdmaXgmiEngines = model.sdmaXgmi;
    node.sdmaQueuesPerEngine = 8;
    node.cpQueues = 24;
    node.firmware = 60;
    node.sdmaFirmware = 20;
    node.capability = model.capability;
    node.vramPublic = 1;
    node.vramSize = model.vramGib << 30;
    node.uniqueId = 0xabc0000000000000 + gpuId;
    node.hasLocation = true;
    node.location = (number + 0xa) << 8;
    return node;
}

inline void joinBoth(Node& one, Node& other, LinkType type) {
    one.links.push_back({type, other.id});
    other.links.push_back({type, one.id});
}

struct Machine {
    std::vector<Node> nodes;

    /// Returns a machine of `cpus` CPU nodes and GPUs that are distributed to them in blocks. XGMI joins hives of
    /// `hive` GPUs.
    static Machine make(const Model& model, std::uint32_t cpus, std::uint32_t gpus, std::uint32_t hive = 1,
                        GpuId firstId = 0x1000) {
        Machine machine;
        for (std::uint32_t cpu = 0; cpu < cpus; ++cpu)
            machine.nodes.push_back(cpuNode(cpu));
        for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
            machine.nodes.push_back(gpuNode(model, cpus + gpu, gpu, firstId + gpu));
        for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
            Node& node = machine.gpu(gpu);
            joinBoth(node, machine.nodes[gpu * cpus / gpus], LinkType::Pcie);
            for (std::uint32_t other = 0; other < gpu; ++other)
                if (other / hive == gpu / hive)
                    joinBoth(node, machine.gpu(other), LinkType::Xgmi);
        }
        for (Node& node : machine.nodes)
            if (node.isGpu())
                node.ioLinks = static_cast<std::uint32_t>(node.links.size());
        return machine;
    }

    Node& gpu(std::size_t number) {
        for (Node& node : nodes)
            if (node.isGpu() && number-- == 0)
                return node;
        throw std::out_of_range("no such GPU");
    }

    [[nodiscard]] Topology topology() const {
        Topology topology;
        for (const Node& node : nodes)
            topology.add(node);
        topology.dropDanglingLinks();
        return topology;
    }
};

/// Folder with a machine's sysfs files; the destructor removes it.
class Sysfs {
public:
    explicit Sysfs(const Machine& machine) {
        char name[] = "/tmp/topology-XXXXXX";
        if (::mkdtemp(name) == nullptr)
            throw std::runtime_error("mkdtemp");
        root_ = name;
        for (const Node& node : machine.nodes)
            write(node);
    }
    ~Sysfs() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    Sysfs(const Sysfs&) = delete;
    Sysfs& operator=(const Sysfs&) = delete;

    [[nodiscard]] const std::string& root() const { return root_; }
    [[nodiscard]] std::string node(std::uint32_t id) const { return fmt::format("{}/nodes/{}", root_, id); }

    static void put(const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream(path) << text;
    }

private:
    void write(const Node& at) const {
        const std::string folder = node(at.id);
        put(folder + "/gpu_id", fmt::format("{}\n", at.gpuId));
        put(folder + "/name", "simulated\n");
        std::string text = fmt::format(
            "cpu_cores_count {}\nsimd_count {}\nmem_banks_count {}\ncaches_count {}\n"
            "io_links_count {}\nmax_waves_per_simd {}\nlds_size_in_kb {}\nnum_gws {}\n",
            at.cpuCores, at.simds, at.memoryBanks, at.caches, at.ioLinks, at.maxWavesPerSimd, at.ldsKb, at.gws);
        text += fmt::format(
            "wave_front_size {}\narray_count {}\nsimd_arrays_per_engine {}\ncu_per_simd_array {}\n"
            "simd_per_cu {}\nmax_slots_scratch_cu {}\nvendor_id {}\ndevice_id {}\nlocation_id {}\n",
            at.waveFront, at.arrays, at.simdArraysPerEngine, at.cusPerSimdArray, at.simdsPerCu, at.scratchSlotsPerCu,
            at.vendor, at.device, at.location);
        text += fmt::format(
            "domain {}\ndrm_render_minor {}\nhive_id {}\nnum_sdma_engines {}\n"
            "num_sdma_xgmi_engines {}\nnum_sdma_queues_per_engine {}\nnum_cp_queues {}\n",
            at.domain, at.renderMinor, at.hive, at.sdmaEngines, at.sdmaXgmiEngines, at.sdmaQueuesPerEngine,
            at.cpQueues);
        text += fmt::format("fw_version {}\ncapability {}\nsdma_fw_version {}\nunique_id {}\n", at.firmware,
                            at.capability, at.sdmaFirmware, at.uniqueId);
        put(folder + "/properties", text);
        if (at.isGpu())
            put(folder + "/mem_banks/0/properties",
                fmt::format("heap_type {}\nsize_in_bytes {}\nflags 0\n", at.vramPublic != 0 ? 1 : 2, at.vramSize));
        for (std::size_t link = 0; link < at.links.size(); ++link)
            put(fmt::format("{}/io_links/{}/properties", folder, link),
                fmt::format("type {}\nversion_major 0\nnode_from {}\nnode_to {}\n",
                            static_cast<std::uint32_t>(at.links[link].type), at.id, at.links[link].to));
    }

    std::string root_;
};

}  // namespace criu::amdgpu::test
