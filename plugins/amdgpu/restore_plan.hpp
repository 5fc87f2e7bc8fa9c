// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "criu/files/file_restore.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/match.hpp"
#include "plugins/amdgpu/restore_objects.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {

struct DriverIdentity;

/// Plan of a restore, which exists before any process. It contains the replacement of each GPU, the open file that
/// provides each address space, and the owner and importers of each buffer.
class RestorePlan {
public:
    /// `rules`: function that returns the rules; called only if the images have GPU state.
    RestorePlan(Kernel& kernel, const device::Context& context, std::function<MatchRules()> rules)
        : kernel_(kernel), context_(context), rules_(std::move(rules)) {}

    /// Reads the images and makes the plan. Returns false if the images have no GPU state. Throws Error if this machine
    /// can't restore them.
    bool prepare(files::FileRestore& files);
    /// Matches GPUs again. Each process then gets only GPUs that its control groups permit. The groups must exist.
    void visitGroups(const device::ProcessGroups& groups);

    [[nodiscard]] const RestoreImages& images() const noexcept { return images_; }
    /// Returns this machine's topology.
    [[nodiscard]] const Topology& here() const noexcept { return here_; }
    /// Returns true if an image contains compute state of a process.
    [[nodiscard]] bool computes() const noexcept { return !sources_.empty(); }
    /// Returns the GPUs of the process whose compute state is in the image `id`.
    [[nodiscard]] const Topology& source(FileId id) const { return sources_.at(id); }
    [[nodiscard]] const GpuMap& map(FileId id) const { return maps_.at(id); }
    /// Returns the GPU that replaces the GPU of a render node. `user`: id of the GPU in the images.
    [[nodiscard]] const Node& newGpu(std::uint32_t oldMinor, GpuId user) const;
    /// Returns the render nodes that a process must open before criu restores its compute state; null for other images.
    [[nodiscard]] const std::vector<FileId>* companions(FileId id) const;
    /// Returns the render node that provides a process' address space on a GPU.
    [[nodiscard]] std::optional<FileId> drmFile(FileId id, GpuId user) const;
    /// Returns the render node that must become the same open file description as `id`, because images don't
    /// distinguish them.
    [[nodiscard]] std::optional<FileId> sameAs(FileId id) const;
    /// Returns the numbers of buffers that an entry or an open DMA-BUF imports.
    [[nodiscard]] const std::set<std::uint64_t>& imported() const noexcept { return imported_; }
    /// Returns true if the images have a GPU with this --gpu-map name.
    [[nodiscard]] bool knowsGpu(const std::string& name) const;
    /// Returns a hint for a RESTORE that the driver refuses with errno `code`: the differences from the dump's driver,
    /// and a remedy. Returns an empty text if the images don't name their driver, or if the driver doesn't explain
    /// `code`.
    [[nodiscard]] std::string explainRefusal(const CriuKfd& image, int code) const;
    /// Returns the processes for which criu must call RESUME, because they have buffers or objects.
    [[nodiscard]] const std::set<TreePid>& pids() const noexcept { return pids_; }

private:
    void completeNodes();
    void requireXnack(const CriuKfd& image, const Topology& source) const;
    void requirePrivateVersion(const CriuKfd& image, const DriverIdentity& driver) const;
    void chooseCompanions(files::FileRestore& files);
    void chooseGpus();
    [[nodiscard]] std::set<GpuId> gpusInGroupsOf(TreePid process, const device::ProcessGroups& groups) const;
    /// Returns the entries of --gpu-map that name a GPU of `source`.
    [[nodiscard]] std::vector<model::GpuMapping> mapped(const Topology& source) const;

    Kernel& kernel_;
    const device::Context& context_;
    std::function<MatchRules()> rules_;
    RestoreImages images_;
    Topology here_;
    std::shared_ptr<const DriverIdentity>
        driver_;  ///< driver of this machine; null if no image names the driver of its dump
    std::map<FileId, Topology> sources_;
    std::map<FileId, GpuMap> maps_;
    std::map<FileId, TreePid> holders_;  ///< process of each image of compute state
    std::map<FileId, Topology>
        allowed_;  ///< GPUs of here_ that the control groups of the process permit; before visitGroups(), all GPUs
    /// Render nodes that a process must open before criu restores the compute state of an image.
    std::map<FileId, std::vector<FileId>> companions_;
    /// Render node that provides the address space. The key is the image of compute state and the user id of the GPU.
    std::map<std::pair<FileId, GpuId>, FileId> drmFiles_;
    std::map<FileId, FileId> sameAs_;
    std::set<TreePid> pids_;
    std::set<std::uint64_t> imported_;
};

}  // namespace criu::amdgpu
