// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::size_t kUsualFile = 4U << 10;  // most files are smaller, because sysfs shows at most one page of a file
constexpr std::size_t kMaxFile = 64U << 10;

// Values of heap_type in mem_banks. Processors can map kHeapPublic completely, and only a part of kHeapPrivate.
constexpr std::uint32_t kHeapPublic = 1;
constexpr std::uint32_t kHeapPrivate = 2;

/// Returns true for errors of nodes that a device cgroup or a container hides.
bool isHidden(int code) {
    return code == EPERM || code == EACCES || code == ENOENT || code == ENODEV;
}

std::optional<std::string> readFile(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && isHidden(errno))
        return std::nullopt;
    sys(fd.get(), "open {}", path);
    std::string text(kUsualFile, '\0');
    std::size_t size = 0;
    for (;;) {
        const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
        if (got < 0 && isHidden(errno))
            return std::nullopt;
        sys(got, "read {}", path);
        if (got == 0)
            break;
        size += static_cast<std::size_t>(got);
        if (size == kMaxFile)
            fail("{} is larger than {} bytes", path, kMaxFile);
        if (size == text.size())
            text.resize(2 * size);
    }
    text.resize(size);
    return text;
}

/// Returns the numbers among the file names of a directory, in ascending order. Returns an empty list if the directory
/// is hidden. Throws Error.
std::vector<std::uint32_t> numberedEntries(const std::string& path) {
    std::vector<std::uint32_t> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(path.c_str()), ::closedir);
    if (!listing) {
        if (isHidden(errno))
            return found;
        failErrno("read the directory {}", path);
    }
    while (const dirent* const entry = ::readdir(listing.get())) {
        kernel::Scanner scan(entry->d_name);
        std::uint32_t number = 0;
        if (scan.number(number) && scan.done())
            found.push_back(number);
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::optional<Properties> readProperties(const std::string& folder) {
    const std::string path = folder + "/properties";
    const auto text = readFile(path);
    if (!text)
        return std::nullopt;
    const ErrorContext context([&] { return path; });
    return Properties::parse(*text);
}

void fillGpu(const Properties& from, Node& node) {
    node.simds = from.get("simd_count");
    node.memoryBanks = from.get("mem_banks_count");
    node.caches = from.get("caches_count");
    node.ioLinks = from.get("io_links_count");
    node.maxWavesPerSimd = from.get("max_waves_per_simd");
    node.ldsKb = from.get("lds_size_in_kb");
    node.gdsKb = from.get("gds_size_in_kb");
    node.gws = from.get("num_gws");
    node.waveFront = from.get("wave_front_size");
    node.arrays = from.get("array_count");
    node.simdArraysPerEngine = from.get("simd_arrays_per_engine");
    node.cusPerSimdArray = from.get("cu_per_simd_array");
    node.simdsPerCu = from.get("simd_per_cu");
    node.scratchSlotsPerCu = from.get("max_slots_scratch_cu");
    node.vendor = from.get("vendor_id");
    node.device = from.get("device_id");
    node.domain = from.get("domain");
    node.renderMinor = from.get("drm_render_minor");
    node.hive = from.wide("hive_id");
    node.sdmaEngines = from.get("num_sdma_engines");
    node.sdmaXgmiEngines = from.get("num_sdma_xgmi_engines");
    node.sdmaQueuesPerEngine = from.get("num_sdma_queues_per_engine");
    node.cpQueues = from.get("num_cp_queues");
    node.dies = from.get("num_xcc");
    node.firmware = from.get("fw_version");
    node.capability = from.get("capability");
    node.sdmaFirmware = from.get("sdma_fw_version");
    node.uniqueId = from.wide("unique_id");
    node.hasLocation = from.has("location_id");
    node.location = from.get("location_id");
}

void fillMemory(const std::string& folder, Node& node) {
    for (const std::uint32_t bank : numberedEntries(folder)) {
        const auto properties = readProperties(fmt::format("{}/{}", folder, bank));
        if (!properties)
            continue;
        const std::uint32_t heap = properties->get("heap_type");
        if (heap != kHeapPublic && heap != kHeapPrivate)
            continue;
        node.vramPublic = heap == kHeapPublic ? 1 : 0;
        node.vramSize = properties->wide("size_in_bytes");
        return;
    }
}

void fillLinks(const std::string& folder, Node& node) {
    for (const std::uint32_t number : numberedEntries(folder)) {
        const auto properties = readProperties(fmt::format("{}/{}", folder, number));
        if (!properties)
            continue;
        const auto type = static_cast<LinkType>(properties->get("type"));
        if (type == LinkType::Pcie || type == LinkType::Xgmi)
            node.links.push_back({type, properties->get("node_to")});
    }
}

}  // namespace

Topology Topology::read(const std::string& root) {
    Topology topology;
    const std::string nodes = root + "/nodes";
    for (const std::uint32_t id : numberedEntries(nodes)) {
        const std::string folder = fmt::format("{}/{}", nodes, id);
        const auto gpuId = readFile(folder + "/gpu_id");
        if (!gpuId || gpuId->find_first_not_of(" \n") == std::string::npos)
            continue;
        Node node;
        node.id = id;
        const ErrorContext context([&] { return folder; });
        node.gpuId = kernel::parseLoneNumber<GpuId>(*gpuId, "a gpu_id");
        const auto properties = readProperties(folder);
        if (!properties)
            continue;
        node.cpuCores = properties->get("cpu_cores_count");
        if (node.isGpu()) {
            fillGpu(*properties, node);
            fillMemory(folder + "/mem_banks", node);
        }
        fillLinks(folder + "/io_links", node);
        topology.add(std::move(node));
    }
    topology.dropDanglingLinks();
    return topology;
}

}  // namespace criu::amdgpu
