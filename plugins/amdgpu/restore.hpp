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
#include "plugins/amdgpu/drm.hpp"
#include "plugins/amdgpu/kfd.hpp"
#include "plugins/amdgpu/kfd_memory.hpp"
#include "plugins/amdgpu/object_table.hpp"
#include "plugins/amdgpu/restore_contents.hpp"
#include "plugins/amdgpu/restore_plan.hpp"

namespace criu::amdgpu {

/// Restore of what AmdgpuDump has written, and of images of CRIU 4.2's plugin. Planning (which GPU for which, who makes
/// a buffer and who imports it) is done before any process exists; each process makes its own; contents are moved by
/// the master, and no queue starts before they are complete.
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
    void finish() noexcept override;

private:
    /// Where a range of mmap offsets has gone.
    struct Moved {
        bool compute = false;        ///< of the compute driver's memory
        std::uint32_t oldMinor = 0;  ///< 0: of /dev/kfd
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::uint64_t newOffset = 0;
        int fd = -1;
    };

    /// A buffer of the compute driver that others make.
    struct Import {
        KfdImport buffer;
        std::size_t moved = 0;  ///< of Own::moved, by index
        std::uint32_t renderMinor = 0;
    };

    void openKfd(FileId id, const CriuKfd& image, files::FileOpener& opener);
    [[nodiscard]] UniqueFd openForDriver(std::uint32_t renderMinor);
    void openRender(FileId id, const CriuRenderNode& image, files::FileOpener& opener);
    [[nodiscard]] static bool canExport(const DrmBoEntry& buffer);
    /// Makes a buffer that has no meaning but to take the next handle.
    void placeholder(const Drm& drm, FileId id, std::uint32_t handle);
    void dropPlaceholders(const Drm& drm, FileId id);
    void restoreBuffer(FileId id, const CriuRenderNode& image, std::size_t index, int fd, UniqueFd dmabuf);
    void importShared(FileId id);
    /// Where memory of a render node is that this process has mapped, and that others have made or imported.
    [[nodiscard]] std::optional<device::Relocated> findElsewhere(std::uint32_t minor, std::uint64_t offset);
    /// The descriptor stays open, out of the numbers of restored files, until all of those are closed together.
    int holdOpen(files::FileOpener& opener, UniqueFd fd);
    void closeHeld(int fd);

    Kernel& kernel_;
    device::Context context_;
    RestorePlan plan_;
    std::map<std::uint32_t, UniqueFd> hostNodes_;  ///< render nodes where criu is, by minor (O_PATH)
    std::optional<ObjectTable> objects_;
    std::optional<ObjectTable> renderFiles_;  ///< by number of the file
    std::optional<NumberTable> mmapOffsets_;  ///< of buffers of render nodes; 0: it can't be mapped
    RestoreContents contents_;
    UniqueFd masterKfd_;

    /// Of the process that this runs in.
    struct Own {
        pid_t pid = 0;
        std::vector<Moved> moved;
        std::map<FileId, int> renderFds;
        std::map<FileId, std::set<std::uint32_t>> placeholders;  ///< handles of render nodes
        std::map<FileId, std::vector<Import>> imports;
        int kfd = -1;
    };
    Own& own();

    Own own_;
    std::vector<UniqueFd> heldOpen_;
};

}  // namespace criu::amdgpu
