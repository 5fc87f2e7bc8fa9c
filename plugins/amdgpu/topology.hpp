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

/// The compute driver's picture of a machine: CPUs and GPUs as nodes, and links between them.
namespace criu::amdgpu {

/// Id of a GPU, a hash the driver makes of its properties and place. "User" ids are those of the machine where a
/// process started; the process goes on to use them wherever it is restored.
using GpuId = std::uint32_t;

/// Minors of render nodes: the first 64 from 128 on, and since Linux 6.12 (drm_drv.c) any further ones from 192 up to
/// what a minor has bits for. Eight cards of eight partitions fill the first 64.
inline constexpr std::uint32_t kFirstRenderMinor = 128;
inline constexpr std::uint32_t kLastRenderMinor = (1U << 20) - 1;

/// Values of io_links/N/properties "type" (CRAT_IOLINK_TYPE_…) that matter.
enum class LinkType : std::uint32_t { Pcie = 2, Xgmi = 11 };

struct Link {
    LinkType type = LinkType::Pcie;
    std::uint32_t to = 0;  ///< a node id
};

struct Node {
    std::uint32_t id = 0;
    GpuId gpuId = 0;  ///< 0: a CPU; then only cpuCores and links are set
    std::uint32_t cpuCores = 0;
    std::uint32_t simds = 0;
    std::uint32_t memoryBanks = 0;
    std::uint32_t caches = 0;
    std::uint32_t ioLinks = 0;  ///< as the driver counts them: also those to nodes that can't be seen
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
    std::uint32_t domain = 0;  ///< of PCI
    std::uint32_t renderMinor = 0;
    std::uint64_t hive = 0;
    std::uint32_t sdmaEngines = 0;
    std::uint32_t sdmaXgmiEngines = 0;
    std::uint32_t sdmaQueuesPerEngine = 0;
    std::uint32_t cpQueues = 0;
    std::uint32_t dies = 0;  ///< XCCs that work for one compute queue; 0: the driver doesn't say
    std::uint32_t firmware = 0;
    std::uint32_t capability = 0;
    std::uint32_t sdmaFirmware = 0;
    std::uint32_t vramPublic = 0;  ///< 1: all of it can be mapped
    std::uint64_t vramSize = 0;    ///< bytes
    std::uint64_t uniqueId = 0;    ///< of the card; 0: unknown
    std::uint32_t location = 0;    ///< PCI bus, device and function in 16 bits; meaningful with hasLocation
    bool hasLocation = false;
    std::vector<Link> links;  ///< to nodes that can be seen

    [[nodiscard]] bool isGpu() const noexcept { return gpuId != 0; }
    /// Whether processes can use it: the compute driver takes a GPU's address space from a file of its render node.
    /// Graphics of some processors are shown as GPUs without one.
    [[nodiscard]] bool hasRenderNode() const noexcept {
        return renderMinor >= kFirstRenderMinor && renderMinor <= kLastRenderMinor;
    }
    /// "0000:0a:00.0", "" if unknown.
    [[nodiscard]] std::string pciAddress() const;
    /// "GPU 0x1234 (node 2, 0000:0a:00.0)".
    [[nodiscard]] std::string describe() const;
};

class Topology {
public:
    static constexpr const char* kSysfs = "/sys/class/kfd/kfd/topology";

    /// Reads all nodes that this process may see; GPUs masked by a device cgroup can't be read and are left out. Links
    /// to nodes that aren't there are dropped. Throws Error on unreadable or malformed content.
    static Topology read(const std::string& root = kSysfs);

    /// Of images. Throws Error for what can't be: two nodes with one id, links to nowhere.
    static Topology fromImage(const CriuKfd& image);

    /// Fills device_entries, num_of_gpus and num_of_cpus: all CPUs, and the GPUs in `gpus` under the given ids.
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
    /// Without GPUs that `allowed` doesn't name.
    [[nodiscard]] Topology restrictedTo(const std::set<GpuId>& allowed) const;
    /// The GPU a user means: by gpu id (decimal or 0x…), unique id (GPU-…) or PCI address. Throws Error if
    /// there is none, or several: partitions of a card have its unique id in common.
    [[nodiscard]] const Node& named(std::string_view name) const;
    /// Whether the link has one of the same type in the other direction.
    [[nodiscard]] bool isBidirectional(const Node& from, const Link& link) const noexcept;

    /// Adds a node (tests, and readers).
    void add(Node node);
    /// Drops links to nodes that aren't there.
    void dropDanglingLinks();

private:
    std::vector<Node> nodes_;  ///< by ascending id
};

/// One line "name value" each, of a properties file.
class Properties {
public:
    /// Throws Error on a malformed line.
    static Properties parse(std::string_view text);
    /// 0 if there is none. Throws Error if it doesn't fit.
    [[nodiscard]] std::uint64_t wide(std::string_view name) const noexcept;
    [[nodiscard]] std::uint32_t get(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const noexcept;

private:
    std::vector<std::pair<std::string, std::uint64_t>> values_;
};

}  // namespace criu::amdgpu
