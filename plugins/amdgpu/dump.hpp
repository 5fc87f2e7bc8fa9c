// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <exception>
#include <map>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/arena.hpp"
#include "plugins/amdgpu/content_driver.hpp"
#include "plugins/amdgpu/kfd.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// The name of CRIU's plugin, whose images these are.
inline constexpr std::string_view kInventoryName = "amdgpu_plugin";

/// Dump of /dev/kfd, render nodes and DMA-BUFs. Queues of a process stop when its /dev/kfd is met, that is before any
/// memory is read; buffers are matched and copied in the end, when all that refers to them is known.
class AmdgpuDump final : public device::DeviceDump {
public:
    AmdgpuDump(Kernel& kernel, const device::Context& context, std::function<std::uint64_t()> bufferLimit);
    ~AmdgpuDump() override;

    bool claims(const device::MappedDevice& mapped) override;
    bool claims(const files::OpenFd& file) override;
    bool dump(const files::OpenFd& file, FileId id) override;
    void dumpLate(HostPid root) override;
    void release(bool goOn) override;

private:
    /// The same number stands for the same memory; 0: unknown.
    using Object = std::uint32_t;

    struct Process {
        FileId id;
        HostPid pid;
        UniqueFd kfd;
        bool paused = false;
        KfdProcess info;
        KfdState state;
        std::vector<UniqueFd> dmabufs;     ///< of state.buffers, some empty
        std::vector<Object> objects;       ///< likewise
        std::map<GpuId, FileId> drmFiles;  ///< by user id: whose address space it has; only what was found out
    };
    /// Another description of a /dev/kfd.
    struct Further {
        FileId id;
        HostPid pid;
        FileId primary;
    };
    struct RenderBuffer {
        uapi::GemListEntry entry{};
        std::vector<uapi::VmEntry> mappings;
        std::optional<std::uint64_t> mmapOffset;  ///< none if processors may not touch it
        UniqueFd dmabuf;  ///< empty if it can't be exported, being valid in its own address space only
        Object object = 0;
        bool imported = false;
    };
    struct RenderNode {
        FileId id;
        HostPid pid;
        std::uint32_t minor = 0;
        UniqueFd fd;
        std::vector<RenderBuffer> buffers;
    };
    struct Dmabuf {
        FileId id;
        UniqueFd fd;
        std::string name;
    };
    struct Mapped {
        HostPid pid;
        std::uint32_t minor = 0;  ///< 0: of /dev/kfd
        std::uint64_t start = 0;
        std::uint64_t offset = 0;
    };

    [[nodiscard]] bool isKfd(const struct stat& status);
    /// The minor of a render node of this driver, 0 for others.
    [[nodiscard]] std::uint32_t renderMinor(const struct stat& status);
    void dumpKfd(const files::OpenFd& file, FileId id);
    void use();

    [[nodiscard]] static std::uint32_t minorOf(const Process& process, const uapi::KfdBuffer& buffer,
                                               const Topology& topology);
    Object objectOf(int dmabuf, bool add);
    void identifyBuffers(const Topology& topology);
    void refuseSharing(const Topology& topology) const;
    void findDrmFiles(Process& process, const Topology& topology) const;
    void lookAtBuffers(RenderNode& node);
    static void refuseUnreachable(const RenderNode& node, const RenderBuffer& buffer);
    void checkOwner(const Process& process) const;
    void chooseOwners();
    void checkMappings(const Topology& topology) const;
    [[nodiscard]] std::uint32_t handleOf(Object object) const;
    [[nodiscard]] GpuId userId(GpuId local) const;
    void saveContents(const Topology& topology);
    void writeKfd(const Process& process, const Topology& topology);
    void writeRender(const RenderNode& node, const Topology& topology);
    /// Starts the queues again that were stopped. Returns the first failure; the others are in the log.
    std::exception_ptr restartQueues() noexcept;
    void unpause(const Process& process);

    Kernel& kernel_;
    device::Context context_;
    std::function<std::uint64_t()> bufferLimit_;  ///< asked for when there is something to be copied
    std::vector<Process> processes_;
    std::vector<Further> further_;
    std::vector<RenderNode> nodes_;
    std::vector<Dmabuf> dmabufs_;
    std::vector<Mapped> mapped_;
    std::map<std::pair<dev_t, ino_t>, Object> objects_;
    ino_t privateBuffers_ = 0;                 ///< how many there are that can't be exported
    std::map<Object, std::uint32_t> handles_;  ///< of the render node that owns or has an object
    std::map<dev_t, bool> ours_;
};

}  // namespace criu::amdgpu
