// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {
namespace {

/// Calls `visit` with each field of an image entry and the member of Node with the same meaning.
template <typename Entry, typename OneNode, typename Visit>
void forEachField(Entry& entry, OneNode& node, Visit&& visit) {
    visit(entry.node_id, node.id);
    visit(entry.cpu_cores_count, node.cpuCores);
    visit(entry.simd_count, node.simds);
    visit(entry.mem_banks_count, node.memoryBanks);
    visit(entry.caches_count, node.caches);
    visit(entry.io_links_count, node.ioLinks);
    visit(entry.max_waves_per_simd, node.maxWavesPerSimd);
    visit(entry.lds_size_in_kb, node.ldsKb);
    visit(entry.gds_size_in_kb, node.gdsKb);
    visit(entry.num_gws, node.gws);
    visit(entry.wave_front_size, node.waveFront);
    visit(entry.array_count, node.arrays);
    visit(entry.simd_arrays_per_engine, node.simdArraysPerEngine);
    visit(entry.cu_per_simd_array, node.cusPerSimdArray);
    visit(entry.simd_per_cu, node.simdsPerCu);
    visit(entry.max_slots_scratch_cu, node.scratchSlotsPerCu);
    visit(entry.vendor_id, node.vendor);
    visit(entry.device_id, node.device);
    visit(entry.domain, node.domain);
    visit(entry.drm_render_minor, node.renderMinor);
    visit(entry.hive_id, node.hive);
    visit(entry.num_sdma_engines, node.sdmaEngines);
    visit(entry.num_sdma_xgmi_engines, node.sdmaXgmiEngines);
    visit(entry.num_sdma_queues_per_engine, node.sdmaQueuesPerEngine);
    visit(entry.num_cp_queues, node.cpQueues);
    visit(entry.fw_version, node.firmware);
    visit(entry.capability, node.capability);
    visit(entry.sdma_fw_version, node.sdmaFirmware);
    visit(entry.vram_public, node.vramPublic);
    visit(entry.vram_size, node.vramSize);
}

}  // namespace

Topology Topology::fromImage(const CriuKfd& image) {
    Topology topology;
    for (const KfdDeviceEntry* const entry : list(image.device_entries, image.n_device_entries)) {
        Node node;
        forEachField(*entry, node, [](const auto& from, auto& to) { to = from; });
        node.gpuId = entry->gpu_id;
        node.uniqueId = entry->has_unique_id != 0 ? entry->unique_id : 0;
        node.hasLocation = entry->has_location_id != 0;
        node.location = entry->location_id;
        for (const DevIolink* const link : list(entry->iolinks, entry->n_iolinks))
            node.links.push_back({static_cast<LinkType>(link->type), link->node_to_id});
        topology.add(std::move(node));
    }
    if (topology.gpus().size() != image.num_of_gpus)
        fail("the image has {} GPUs, not {}", topology.gpus().size(), image.num_of_gpus);
    topology.dropDanglingLinks();
    return topology;
}

void Topology::toImage(const std::vector<ImageGpu>& gpus, CriuKfd& image, Arena& arena) const {
    std::vector<KfdDeviceEntry*> entries;
    const auto isIn = [&](const Node& node) {
        return !node.isGpu() ||
               std::any_of(gpus.begin(), gpus.end(), [&](const ImageGpu& gpu) { return gpu.local == node.gpuId; });
    };
    for (const Node& node : nodes_) {
        if (!isIn(node))
            continue;
        auto& entry = *arena.make<KfdDeviceEntry>();
        forEachField(entry, node, [](auto& to, const auto& from) { to = from; });
        if (node.isGpu()) {
            entry.gpu_id = std::find_if(gpus.begin(), gpus.end(), [&](const ImageGpu& gpu) {
                               return gpu.local == node.gpuId;
                           })->user;
            entry.has_unique_id = node.uniqueId != 0;
            entry.unique_id = node.uniqueId;
            entry.has_location_id = node.hasLocation;
            entry.location_id = node.location;
            ++image.num_of_gpus;
        } else {
            ++image.num_of_cpus;
        }
        entry.iolinks = arena.messages<DevIolink>(node.links.size());
        for (const Link& link : node.links) {
            const Node* const other = find(link.to);
            if (other == nullptr || !isIn(*other))
                continue;
            DevIolink& out = *entry.iolinks[entry.n_iolinks++];
            out.type = static_cast<std::uint32_t>(link.type);
            out.node_to_id = link.to;
        }
        entries.push_back(&entry);
    }
    for (const ImageGpu& gpu : gpus)
        if (findGpu(gpu.local) == nullptr)
            fail("the process uses GPU {:#06x}, which {} doesn't show", gpu.local, kSysfs);
    image.n_device_entries = entries.size();
    image.device_entries = arena.copy(std::span<KfdDeviceEntry* const>(entries));
}

}  // namespace criu::amdgpu
