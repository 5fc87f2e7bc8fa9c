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

/// Topology of a machine in the compute driver. Nodes are CPUs and GPUs; links connect nodes.
namespace criu::amdgpu {

/// Id of a GPU. The driver computes it as a hash of the GPU's properties and position. A process uses the same ids
/// after each restore: the user ids. They are the ids on the machine where the process started.
using GpuId = std::uint32_t;

/// Minors of render nodes. The first 64 render nodes have minors from 128 on, and further ones from 192 on (since Linux
/// 6.12, drm_drv.c). Eight cards with eight partitions each use the first 64.
inline constexpr std::uint32_t kFirstRenderMinor = 128;
inline constexpr std::uint32_t kLastRenderMinor = (1U << 20) - 1;

/// Types of links that criu distinguishes: values of "type" in io_links/N/properties (CRAT_IOLINK_TYPE_…).
enum class LinkType : std::uint32_t { Pcie = 2, Xgmi = 11 };

struct Link {
    LinkType type = LinkType::Pcie;
    std::uint32_t to = 0;  ///< id of the node to which the link leads
};

struct Node {
    std::uint32_t id = 0;
    GpuId gpuId = 0;  ///< 0 for a CPU, which has only cpuCores and links
    std::uint32_t cpuCores = 0;
    std::uint32_t simds = 0;
    std::uint32_t memoryBanks = 0;
    std::uint32_t caches = 0;
    std::uint32_t ioLinks =
        0;  ///< number of links that the driver counts, including links to nodes that this process can't see
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
    std::uint32_t dies = 0;  ///< dies (XCCs) that one compute queue uses; 0 if unknown
    std::uint32_t firmware = 0;
    std::uint32_t capability = 0;
    std::uint32_t sdmaFirmware = 0;
    std::uint32_t vramPublic = 0;  ///< 1 if processors can map all video memory, otherwise 0
    std::uint64_t vramSize = 0;    ///< size of video memory in bytes
    std::uint64_t uniqueId = 0;    ///< id of the card; 0 if unknown
    std::uint32_t location = 0;    ///< PCI bus, device and function in 16 bits; valid with hasLocation
    bool hasLocation = false;
    std::vector<Link> links;  ///< links to visible nodes

    [[nodiscard]] bool isGpu() const noexcept { return gpuId != 0; }
    /// Returns true if processes can compute on the GPU: they get an address space from a file of its render node. Some
    /// processors have graphics that the driver lists as a GPU without render node.
    [[nodiscard]] bool hasRenderNode() const noexcept {
        return renderMinor >= kFirstRenderMinor && renderMinor <= kLastRenderMinor;
    }
    /// Returns an address such as "0000:0a:00.0"; "" if the address is unknown.
    [[nodiscard]] std::string pciAddress() const;
    /// Returns a text such as "GPU 0x1234 (node 2, 0000:0a:00.0)".
    [[nodiscard]] std::string describe() const;
};

class Topology {
public:
    static constexpr const char* kSysfs = "/sys/class/kfd/kfd/topology";

    /// Reads all nodes that this process can see. Omits GPUs that a device cgroup hides, and links to missing nodes.
    /// Throws Error if content is unreadable or malformed.
    static Topology read(const std::string& root = kSysfs);

    /// Reads the topology in an image. Throws Error for duplicate node ids and links to missing nodes.
    static Topology fromImage(const CriuKfd& image);

    /// Ids of a GPU on this machine and in images.
    struct ImageGpu {
        GpuId local = 0;
        GpuId user = 0;
    };
    /// Fills device_entries, num_of_gpus and num_of_cpus of an image with all CPUs, and with the GPUs in `gpus`.
    void toImage(const std::vector<ImageGpu>& gpus, CriuKfd& image, Arena& arena) const;

    [[nodiscard]] const std::vector<Node>& nodes() const noexcept { return nodes_; }
    [[nodiscard]] std::vector<const Node*> gpus() const;
    [[nodiscard]] const Node* findGpu(GpuId id) const noexcept;
    [[nodiscard]] const Node* findMinor(std::uint32_t renderMinor) const noexcept;
    [[nodiscard]] const Node* find(std::uint32_t nodeId) const noexcept;
    /// Returns a copy of the topology without GPUs that aren't in `allowed`.
    [[nodiscard]] Topology restrictedTo(const std::set<GpuId>& allowed) const;
    /// Returns the GPU with a given gpu id (decimal or 0x…), unique id (GPU-…) or PCI address. Throws Error if no GPU
    /// matches, or if several match. Partitions of a card have the same unique id.
    [[nodiscard]] const Node& named(std::string_view name) const;
    /// Returns true if a link of the same type leads from the other node back to `from`.
    [[nodiscard]] bool isBidirectional(const Node& from, const Link& link) const noexcept;

    /// Adds a node. Unit tests and the functions that read sysfs and images call this.
    void add(Node node);
    /// Removes links to nodes that the topology lacks.
    void dropDanglingLinks();

private:
    std::vector<Node> nodes_;  ///< in ascending order of id
};

/// Content of a properties file with lines "name value".
class Properties {
public:
    /// Throws Error on a malformed line.
    static Properties parse(std::string_view text);
    /// wide() and get() return 0 if the file lacks the property. get() throws Error if the value is too large for 32
    /// bits.
    [[nodiscard]] std::uint64_t wide(std::string_view name) const noexcept;
    [[nodiscard]] std::uint32_t get(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const noexcept;

private:
    std::vector<std::pair<std::string, std::uint64_t>> values_;
};

}  // namespace criu::amdgpu
