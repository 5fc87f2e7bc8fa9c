// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "plugins/amdgpu/driver/drm.hpp"
#include "plugins/amdgpu/driver/kfd.hpp"
#include "plugins/amdgpu/driver/kfd_memory.hpp"
#include "plugins/amdgpu/object_table.hpp"
#include "plugins/amdgpu/restore_contents.hpp"
#include "plugins/amdgpu/restore_plan.hpp"

namespace criu::amdgpu {

class ResumeWatch;

/// Restores images of AmdgpuDump and of CRIU 4.2's plugin. Before any process exists, a plan contains the replacement
/// of each GPU, and the owner and importers of each buffer. Each process creates its buffers, and the coordinator
/// copies contents into them. Queues start only when all contents are complete.
class AmdgpuRestore final : public device::DeviceRestore {
public:
    AmdgpuRestore(Kernel& kernel, const device::Context& context, std::function<MatchRules()> rules,
                  std::function<std::uint64_t()> bufferLimit);

    void prepare(files::FileRestore& files) override;
    [[nodiscard]] GpuName findGpu(const std::string& name) const override {
        return plan_.images().empty() ? GpuName::NoGpus : plan_.knowsGpu(name) ? GpuName::Known : GpuName::Unknown;
    }
    void share(kernel::FdStore& store) override;
    [[nodiscard]] std::size_t descriptors() const override;
    [[nodiscard]] bool owns(FileId id) const override;
    [[nodiscard]] std::vector<FileId> needs(FileId id, const files::FileRestore& files) const override;
    [[nodiscard]] bool late(FileId id) const override { return plan_.images().dmabufs.contains(id); }
    [[nodiscard]] bool early(FileId id) const override {
        return plan_.images().kfds.contains(id) || plan_.images().nodes.contains(id);
    }
    void visitGroups(const device::ProcessGroups& groups) override;
    void startWork() override;
    void endWork() noexcept override { contents_.endWork(); }

    Opened open(FileId id, files::FileOpener& opener) override;
    void complete(FileId id, files::PlacedFiles& files) override;
    std::optional<device::Relocated> relocate(const device::DeviceMapping& mapping) override;
    void resume(compel::FrozenProcess& process, TreePid pid) override;
    void resumeAll(std::span<const device::ResumedProcess> processes) override;
    void finish() noexcept override;

private:
    /// Range of mmap offsets that a buffer had at the dump, and its offset after the restore.
    struct Moved {
        bool compute = false;        ///< true for memory of the compute driver, which belongs to one process
        std::uint32_t oldMinor = 0;  ///< minor of the render node at the dump; 0: /dev/kfd
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::uint64_t newOffset = 0;
        int fd = -1;
    };

    /// Buffer of the compute driver that another process creates and this process imports.
    struct Import {
        KfdImport buffer;
        std::size_t moved = 0;  ///< index in Own::moved
        std::uint32_t renderMinor = 0;
    };

    void openKfd(FileId id, const CriuKfd& image, files::FileOpener& opener);
    [[nodiscard]] UniqueFd openForDriver(std::uint32_t renderMinor);
    void openRender(FileId id, const CriuRenderNode& image, files::FileOpener& opener);
    /// Creates a buffer of one page. The buffer occupies `handle`, which must be the lowest free handle.
    void placeholder(const Drm& drm, FileId id, std::uint32_t handle);
    void dropPlaceholders(const Drm& drm, FileId id);
    void restoreBuffer(FileId id, const CriuRenderNode& image, std::size_t index, int fd, UniqueFd dmabuf);
    void importShared(FileId id);
    /// Finds a buffer that this process maps through a render node, if another process created or imported the buffer.
    [[nodiscard]] std::optional<device::Relocated> findElsewhere(std::uint32_t minor, std::uint64_t offset);
    /// Moves a descriptor to a number that no restored file uses. The descriptor stays open until finish() or
    /// closeHeld().
    int holdOpen(files::FileOpener& opener, UniqueFd fd);
    void closeHeld(int fd);

    Kernel& kernel_;
    device::Context context_;
    RestorePlan plan_;
    std::map<std::uint32_t, UniqueFd> hostNodes_;  ///< render nodes of criu's mount namespace, by minor (O_PATH)
    std::optional<ObjectTable> objects_;
    std::optional<ObjectTable> renderFiles_;  ///< open render nodes, by the number of their file in the images
    std::optional<NumberTable> mmapOffsets_;  ///< offsets of render nodes' buffers; 0: not mappable
    RestoreContents contents_;
    std::shared_ptr<ResumeWatch> watch_;
    UniqueFd masterKfd_;
    /// True if /dev/kfd expects the GPU ids that processes use in mmap offsets (MmapIds::User).
    bool mapsByUserIds_ = false;

    /// State of the current process.
    struct Own {
        pid_t pid = 0;
        std::vector<Moved> moved;
        std::map<FileId, int> renderFds;
        std::map<FileId, std::set<std::uint32_t>> placeholders;  ///< handles of placeholder buffers, by render node
        std::map<FileId, std::vector<Import>> imports;
        int kfd = -1;
    };
    Own& own();

    Own own_;
    std::vector<UniqueFd> heldOpen_;
};

}  // namespace criu::amdgpu
