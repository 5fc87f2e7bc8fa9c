// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "criu/image/arena.hpp"
#include "images/criu-amdgpu.hpp"

/// Topology of a machine in the compute driver: CPUs and GPUs as nodes, and links between them.
namespace criu::amdgpu {

/// Id of a GPU, a hash of its properties and position that the driver computes. User ids are ids of the machine where
/// the process started; the process uses them after each restore.
using GpuId = std::uint32_t;

/// Minors of render nodes: the first 64 begin at 128, later ones at 192 (since Linux 6.12, drm_drv.c). Eight cards of
/// eight partitions fill the first 64.
inline constexpr std::uint32_t kFirstRenderMinor = 128;
inline constexpr std::uint32_t kLastRenderMinor = (1U << 20) - 1;

/// Relevant values of io_links/N/properties "type" (CRAT_IOLINK_TYPE_…).
enum class LinkType : std::uint32_t { Pcie = 2, Xgmi = 11 };

struct Link {
    LinkType type = LinkType::Pcie;
    std::uint32_t to = 0;  ///< id of the node at the other end
};

struct Node {
    std::uint32_t id = 0;
    GpuId gpuId = 0;  ///< 0: a CPU; then only cpuCores and links are set
    std::uint32_t cpuCores = 0;
    std::uint32_t simds = 0;
    std::uint32_t memoryBanks = 0;
    std::uint32_t caches = 0;
    std::uint32_t ioLinks =
        0;  ///< number of links by the driver's count, which includes links to nodes that this process can't see
    std::uint32_t maxWavesPerSimd = 0;
    std::uint32_t ldsKb = 0;
    std::uint32_t gdsKb = 0;
    std::uint32_t gws = 0;
    std::uint32_t waveFront = 0;
    std::uint32_t arrays = 0;
    std::uint32_t simdArraysPerEngine = 0;
    std::uint32_t cusPerSimdArray = 0;
    std::uint32_t simdsPerCu = 0;
    std::uint32_t scratchSlotsPerCu = 0;
    std::uint32_t vendor = 0;
    std::uint32_t device = 0;
    std::uint32_t domain = 0;  ///< PCI domain
    std::uint32_t renderMinor = 0;
    std::uint64_t hive = 0;
    std::uint32_t sdmaEngines = 0;
    std::uint32_t sdmaXgmiEngines = 0;
    std::uint32_t sdmaQueuesPerEngine = 0;
    std::uint32_t cpQueues = 0;
    std::uint32_t dies = 0;  ///< XCCs that work for one compute queue; 0: unknown
    std::uint32_t firmware = 0;
    std::uint32_t capability = 0;
    std::uint32_t sdmaFirmware = 0;
    std::uint32_t vramPublic = 0;  ///< 1 if processors can map all video memory, else 0
    std::uint64_t vramSize = 0;    ///< bytes
    std::uint64_t uniqueId = 0;    ///< id of the card; 0: unknown
    std::uint32_t location = 0;    ///< PCI bus, device and function in 16 bits; valid with hasLocation
    bool hasLocation = false;
    std::vector<Link> links;  ///< links to visible nodes

    [[nodiscard]] bool isGpu() const noexcept { return gpuId != 0; }
    /// True if processes can use the GPU: the compute driver takes the address space from a file of its render node.
    /// Graphics of some processors appear as GPUs without render node.
    [[nodiscard]] bool hasRenderNode() const noexcept {
        return renderMinor >= kFirstRenderMinor && renderMinor <= kLastRenderMinor;
    }
    /// Returns an address such as "0000:0a:00.0", "" if unknown.
    [[nodiscard]] std::string pciAddress() const;
    /// Returns "GPU 0x1234 (node 2, 0000:0a:00.0)".
    [[nodiscard]] std::string describe() const;
};

class Topology {
public:
    static constexpr const char* kSysfs = "/sys/class/kfd/kfd/topology";

    /// Reads all nodes visible to this process. Leaves out GPUs hidden by a device cgroup, and links to missing nodes.
    /// Throws Error on unreadable or malformed content.
    static Topology read(const std::string& root = kSysfs);

    /// Reads the topology of an image. Throws Error for duplicate node ids and links to missing nodes.
    static Topology fromImage(const CriuKfd& image);

    /// Fills device_entries, num_of_gpus and num_of_cpus of an image with all CPUs, and with the GPUs in `gpus`.
    struct ImageGpu {
        GpuId local = 0;
        GpuId user = 0;
    };
    void toImage(const std::vector<ImageGpu>& gpus, CriuKfd& image, Arena& arena) const;

    [[nodiscard]] const std::vector<Node>& nodes() const noexcept { return nodes_; }
    [[nodiscard]] std::vector<const Node*> gpus() const;
    [[nodiscard]] const Node* findGpu(GpuId id) const noexcept;
    [[nodiscard]] const Node* findMinor(std::uint32_t renderMinor) const noexcept;
    [[nodiscard]] const Node* find(std::uint32_t nodeId) const noexcept;
    /// Returns a copy of the topology that has only GPUs in `allowed`.
    [[nodiscard]] Topology restrictedTo(const std::set<GpuId>& allowed) const;
    /// Returns the GPU with a gpu id (decimal or 0x…), unique id (GPU-…) or PCI address. Throws Error if none or
    /// several match: partitions of a card share its unique id.
    [[nodiscard]] const Node& named(std::string_view name) const;
    /// True if a link of the same type leads back from the other node.
    [[nodiscard]] bool isBidirectional(const Node& from, const Link& link) const noexcept;

    /// Adds a node. Unit tests and the readers of sysfs and of images call it.
    void add(Node node);
    /// Removes links to nodes that the topology lacks.
    void dropDanglingLinks();

private:
    std::vector<Node> nodes_;  ///< by ascending id
};

/// A properties file with lines "name value".
class Properties {
public:
    /// Throws Error on a malformed line.
    static Properties parse(std::string_view text);
    /// Both return 0 for a property that the file lacks, and throw Error for a value that doesn't fit the type.
    [[nodiscard]] std::uint64_t wide(std::string_view name) const noexcept;
    [[nodiscard]] std::uint32_t get(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const noexcept;

private:
    std::vector<std::pair<std::string, std::uint64_t>> values_;
};

}  // namespace criu::amdgpu
