// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "criu/files/file_restore.hpp"
#include "plugins/amdgpu/kernel.hpp"
#include "plugins/amdgpu/match.hpp"
#include "plugins/amdgpu/restore_objects.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

/// What is decided of a restore before any process exists: which GPU takes the place of which, whose address space a
/// process' compute state has, who makes a buffer and who imports it.
class RestorePlan {
public:
    /// `rules` is asked for when the images have something of GPUs.
    RestorePlan(Kernel& kernel, const device::Context& context, std::function<MatchRules()> rules)
        : kernel_(kernel), context_(context), rules_(std::move(rules)) {}

    /// Reads the images and plans; false if they have nothing of GPUs. Throws Error if they can't be restored here.
    bool prepare(files::FileRestore& files);
    /// Control groups are there: matches GPUs again, with those that each process may use.
    void visitGroups(const device::ProcessGroups& groups);

    [[nodiscard]] const RestoreImages& images() const noexcept { return images_; }
    /// This machine's.
    [[nodiscard]] const Topology& here() const noexcept { return here_; }
    [[nodiscard]] bool computes() const noexcept { return !sources_.empty(); }
    /// Of an image of compute state: the GPUs that the process had.
    [[nodiscard]] const Topology& source(FileId id) const { return sources_.at(id); }
    [[nodiscard]] const GpuMap& map(FileId id) const { return maps_.at(id); }
    /// The GPU that is now what a render node was; `user` is what the images call the GPU.
    [[nodiscard]] const Node& newGpu(std::uint32_t oldMinor, GpuId user) const;
    /// Render nodes that must be open before a process' compute state is made; null if there is no such image.
    [[nodiscard]] const std::vector<FileId>* companions(FileId id) const;
    /// The render node whose address space a process' compute state has on a GPU.
    [[nodiscard]] std::optional<FileId> drmFile(FileId id, GpuId user) const;
    /// The render node that another one is a copy of, in images that don't tell the two apart.
    [[nodiscard]] std::optional<FileId> sameAs(FileId id) const;
    /// The numbers of buffers that somebody imports.
    [[nodiscard]] const std::set<std::uint64_t>& imported() const noexcept { return imported_; }
    /// Whether --gpu-map may call a GPU of the images so.
    [[nodiscard]] bool knowsGpu(const std::string& name) const;
    /// Processes with compute state.
    [[nodiscard]] const std::set<TreePid>& pids() const noexcept { return pids_; }

private:
    void completeNodes();
    void chooseCompanions(files::FileRestore& files);
    void chooseGpus();
    [[nodiscard]] std::set<GpuId> gpusInGroupsOf(TreePid process, const device::ProcessGroups& groups) const;
    /// --gpu-map, as far as it is about GPUs of `source`.
    [[nodiscard]] std::vector<model::GpuMapping> mapped(const Topology& source) const;

    Kernel& kernel_;
    const device::Context& context_;
    std::function<MatchRules()> rules_;
    RestoreImages images_;
    Topology here_;
    std::map<FileId, Topology> sources_;
    std::map<FileId, GpuMap> maps_;
    std::map<FileId, TreePid> holders_;   ///< of compute state: the process
    std::map<FileId, Topology> allowed_;  ///< what its control groups leave of here_; all of it until they were visited
    /// A process' compute state and its render nodes have GPU address spaces in common.
    std::map<FileId, std::vector<FileId>> companions_;
    /// By image of compute state and user id of the GPU.
    std::map<std::pair<FileId, GpuId>, FileId> drmFiles_;
    std::map<FileId, FileId> sameAs_;
    std::set<TreePid> pids_;
    std::set<std::uint64_t> imported_;
};

}  // namespace criu::amdgpu
