// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/restore_plan.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "images/fdinfo.hpp"
#include "plugins/amdgpu/client_restore.hpp"
#include "plugins/amdgpu/driver/driver_identity.hpp"
#include "plugins/amdgpu/driver/kfd.hpp"
#include "plugins/amdgpu/image_file.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::string_view kXnackMissing = "the process' XNACK is on, which a GPU here lacks";
constexpr std::string_view kXnackRemedy =
    "load amdgpu with noretry=0, choose other GPUs by --gpu-map, or start the program with HSA_XNACK=0 before the dump";

bool hasGpu(const Topology& topology, const std::string& name) {
    try {
        (void)topology.named(name);
        return true;
    } catch (const Error&) {
        return false;
    }
}

bool isId(const std::string& name, GpuId id) {
    return name == fmt::format("{}", id) || name == fmt::format("{:#x}", id);
}

}  // namespace

bool RestorePlan::prepare(files::FileRestore& files) {
    for (const FileEntry* const entry : files.entries(FD_TYPES__EXT)) {
        const FileId id{entry->id};
        if (auto kfd = readMessage<CriuKfd>(context_.images, kfdImageName(id)))
            images_.kfds.emplace(id, std::move(*kfd));
        else if (auto node = readMessage<CriuRenderNode>(context_.images, renderImageName(id)))
            images_.nodes.emplace(id, std::move(*node));
        else if (auto dmabuf = readMessage<CriuDmabufNode>(context_.images, dmabufImageName(id)))
            images_.dmabufs.emplace(id, std::move(*dmabuf));
    }
    if (images_.empty())
        return false;
    completeNodes();
    for (const auto& [id, image] : images_.nodes) {
        const ErrorContext context([&, &id = id] { return renderImageName(id); });
        validateClient(*image);
    }
    chooseCompanions(files);
    here_ = Topology::read(kernel_.topology());
    for (const auto& [id, image] : images_.kfds) {
        if (image->has_primary != 0)
            continue;
        const ErrorContext context([&, &id = id] { return kfdImageName(id); });
        if (const auto driver = driverOf(*image)) {
            if (!driver_ && kernel_.device(kKfdPath) != 0)
                driver_ = std::make_shared<const DriverIdentity>(runningDriver(kernel_, here_));
            if (driver_) {
                requireSameLayout(*driver, *driver_);
                requirePrivateVersion(*image, *driver);
            }
        }
        sources_.emplace(id, Topology::fromImage(*image));
        requireXnack(*image, sources_.at(id));
        allowed_.emplace(id, here_);
        const std::vector<TreePid> users = files.users(id);
        const TreePid noted(static_cast<pid_t>(image->pid));
        // A process in a nested pid namespace has another pid there than in the tree.
        const bool known = users.empty() || std::find(users.begin(), users.end(), noted) != users.end();
        const TreePid holder = known ? noted : users.front();
        holders_.emplace(id, holder);
        if (image->n_bo_entries != 0 || image->num_of_objects != 0)
            pids_.insert(holder);
    }
    chooseGpus();  // chooses before control groups exist, so that a GPU without replacement is an early error
    numberObjects(images_, context_.log);
    imported_ = importedObjects(images_);
    return true;
}

/// Throws Error if the process' XNACK is on and a GPU here lacks it. Skips the check if the process may use only some
/// GPUs here, because the driver looks at these only (kfd_process_xnack_mode() of kfd_process.c, Linux 6.1 to 7.3).
void RestorePlan::requireXnack(const CriuKfd& image, const Topology& source) const {
    if (image.xnack == 0 || !driver_ || source.gpus().size() != here_.gpus().size())
        return;
    const UniqueFd kfd = kernel_.open(kKfdPath, O_RDWR);
    if (Kfd(kernel_, kfd.get()).allowsXnack())
        return;
    Error error(0, std::string(kXnackMissing));
    error.addHint(std::string(kXnackRemedy));
    throw error;
}

/// Throws Error if the driver here has another version of private data than the dump's `driver`: it would refuse the
/// RESTORE (criu_restore_process() of kfd_chardev.c, Linux 6.1 to 7.3). An equal driver has an equal version.
void RestorePlan::requirePrivateVersion(const CriuKfd& image, const DriverIdentity& driver) const {
    const std::string differs = differences(driver, *driver_);
    if (differs.empty())
        return;
    context_.log.info("amdgpu: {}", differs);
    if (image.has_private_version == 0)
        return;
    const UniqueFd kfd = kernel_.open(kKfdPath, O_RDWR);
    const auto here = Kfd(kernel_, kfd.get()).privateVersion();
    if (!here || *here == image.private_version)
        return;
    Error error(0, fmt::format("the driver's private data has version {} in the images and {} here; {}",
                               image.private_version, *here, differs));
    error.addHint(fmt::format("restore with a kernel and driver as at the dump ({})", driver.describe()));
    throw error;
}

/// Sets the minors of render nodes. The plugin in CRIU 4.2 stores only the GPU of a render node.
void RestorePlan::completeNodes() {
    for (auto& [id, node] : images_.nodes) {
        if (node->has_drm_render_minor != 0)
            continue;
        for (const auto& [other, kfd] : images_.kfds)
            for (const KfdDeviceEntry* const gpu : list(kfd->device_entries, kfd->n_device_entries))
                if (gpu->gpu_id != 0 && gpu->gpu_id == node->gpu_id) {
                    node->has_drm_render_minor = 1;
                    node->drm_render_minor = gpu->drm_render_minor;
                }
    }
}

/// Finds the render node that provides the address space of a process, if the images name it. If they don't, criu does
/// the same as CRIU 4.2: all open files of this render node become one open file description. Files with state stay
/// separate, because buffers of two files may have the same handle.
void RestorePlan::chooseCompanions(files::FileRestore& files) {
    for (const auto& [id, image] : images_.kfds) {
        if (image->has_primary != 0)
            continue;
        // Render nodes that only this process has come first.
        std::vector<std::pair<std::size_t, FileId>> candidates;
        for (const FileId other : files.besides(id))
            if (images_.nodes.contains(other))
                candidates.emplace_back(files.users(other).size(), other);
        std::stable_sort(candidates.begin(), candidates.end(),
                         [](const auto& one, const auto& other) { return one.first < other.first; });
        std::vector<FileId>& companions = companions_[id];
        for (const auto& [users, other] : candidates)
            companions.push_back(other);
        for (const KfdDeviceEntry* const gpu : list(image->device_entries, image->n_device_entries)) {
            std::vector<FileId> same;
            for (const FileId other : companions)
                if (gpu->gpu_id != 0 && images_.nodes.at(other)->drm_render_minor == gpu->drm_render_minor)
                    same.push_back(other);
            if (same.empty())
                continue;
            if (gpu->has_drm_file != 0) {
                if (std::find(same.begin(), same.end(), FileId{gpu->drm_file}) != same.end())
                    drmFiles_.emplace(std::pair(id, gpu->gpu_id), FileId{gpu->drm_file});
                continue;
            }
            const auto hasState = [&](FileId other) {
                const CriuRenderNode& node = *images_.nodes.at(other);
                return node.n_bo_entries != 0 || node.n_contexts != 0 || node.n_sync_objects != 0;
            };
            const auto owner = std::find_if(same.begin(), same.end(), hasState);
            const FileId chosen = owner != same.end() ? *owner : same.front();
            drmFiles_.emplace(std::pair(id, gpu->gpu_id), chosen);
            for (const FileId other : same)
                if (other != chosen && !hasState(other))
                    sameAs_.emplace(other, chosen);
        }
    }
}

std::vector<model::GpuMapping> RestorePlan::mapped(const Topology& source) const {
    std::vector<model::GpuMapping> found;
    for (const model::GpuMapping& mapping : context_.options.gpuMap)
        if (hasGpu(source, mapping.from))
            found.push_back(mapping);
    return found;
}

bool RestorePlan::knowsGpu(const std::string& name) const {
    return std::any_of(sources_.begin(), sources_.end(), [&](const auto& one) { return hasGpu(one.second, name); }) ||
           std::any_of(images_.nodes.begin(), images_.nodes.end(),
                       [&](const auto& node) { return isId(name, node.second->gpu_id); });
}

/// Processes of a tree share GPUs, so a choice for one process applies to all. The function begins with the processes
/// that may use the fewest GPUs.
void RestorePlan::chooseGpus() {
    std::vector<FileId> order;
    for (const auto& [id, source] : sources_)
        order.push_back(id);
    std::stable_sort(order.begin(), order.end(), [&](FileId one, FileId other) {
        return allowed_.at(one).gpus().size() < allowed_.at(other).gpus().size();
    });
    maps_.clear();
    for (const FileId id : order) {
        const ErrorContext context([&] { return kfdImageName(id); });
        const Topology& source = sources_.at(id);
        std::vector<model::GpuMapping> wanted;
        const auto isWanted = [&](const Node& gpu) {
            return std::any_of(wanted.begin(), wanted.end(),
                               [&](const model::GpuMapping& known) { return &source.named(known.from) == &gpu; });
        };
        for (const auto& [other, map] : maps_)
            for (const auto& [user, local] : map)
                for (const Node* const gpu : source.gpus())
                    if (gpu->id == sources_.at(other).findGpu(user)->id && !isWanted(*gpu))
                        wanted.push_back({fmt::format("{}", gpu->gpuId), fmt::format("{}", local)});
        for (const model::GpuMapping& mapping : mapped(source))
            if (!hasGpu(source, mapping.from) || !isWanted(source.named(mapping.from)))
                wanted.push_back(mapping);
        maps_.emplace(id, matchGpus(source, allowed_.at(id), rules_(), wanted));
    }
}

/// Returns the GPUs that a process may use. The driver allows a GPU only if all device control groups of the process
/// permit it. A member of these groups can read only the topology files of permitted GPUs.
std::set<GpuId> RestorePlan::gpusInGroupsOf(TreePid process, const device::ProcessGroups& groups) const {
    struct Seen {
        std::uint32_t count;
        GpuId ids[1];
    };
    const std::size_t most = here_.gpus().size();
    const Mapping memory = Mapping::anonymous(pageAlignUp(sizeof(Seen) + most * sizeof(GpuId)), MAP_SHARED);
    auto& seen = *memory.as<Seen>();
    groups.visit(process, [&] {
        const Topology inGroups = Topology::read(kernel_.topology());
        for (const Node* const gpu : inGroups.gpus())
            if (gpu->hasRenderNode() && seen.count < most)
                seen.ids[seen.count++] = gpu->gpuId;
    });
    return {seen.ids, seen.ids + std::min<std::size_t>(seen.count, most)};
}

/// Checks that each process may open as many GPUs as it had, because RESTORE needs exactly that number.
void RestorePlan::visitGroups(const device::ProcessGroups& groups) {
    std::map<std::uint32_t, std::set<GpuId>> known;  // results by cgroup set, because most trees are in one set
    for (const auto& [id, source] : sources_) {
        const TreePid holder = holders_.at(id);
        const std::uint32_t set = groups.setOf(holder);
        if (!known.contains(set))
            known.emplace(set, gpusInGroupsOf(holder, groups));
        const std::set<GpuId>& ids = known.at(set);
        allowed_.at(id) = here_.restrictedTo(ids);
        const std::size_t had = source.gpus().size();
        if (ids.size() == had)
            continue;
        Error error(0, fmt::format("process {} had {} GPUs, and its control group lets it use {} here", holder, had,
                                   ids.size()));
        error.addHint(
            "the driver restores it only where it may use exactly as many: see devices(4), or the device "
            "options of the container's runtime");
        throw error;
    }
    chooseGpus();
    for (const auto& [id, map] : maps_)
        for (const auto& [user, local] : map)
            context_.log.info("amdgpu: {} becomes {}", sources_.at(id).findGpu(user)->describe(),
                              here_.findGpu(local)->describe());
}

std::string RestorePlan::explainRefusal(const CriuKfd& image, int code) const {
    const auto driver = driverOf(image);
    if (!driver || !driver_)
        return {};
    // The GPU lacks XNACK (criu_restore_process() of kfd_chardev.c, Linux 6.1 to 7.3).
    if (code == EPERM && image.xnack != 0)
        return fmt::format("{}: {}", kXnackMissing, kXnackRemedy);
    if (code != EINVAL)
        return {};
    const std::string differs = differences(*driver, *driver_);
    return fmt::format(
        "the driver may have another format: private data has version {}{}{}; restore with a kernel and "
        "driver as at the dump ({})",
        image.private_version, differs.empty() ? "" : "; ", differs, driver->describe());
}

const Node& RestorePlan::newGpu(std::uint32_t oldMinor, GpuId user) const {
    for (const auto& [id, source] : sources_)
        if (const Node* const gpu = source.findMinor(oldMinor))
            return *here_.findGpu(maps_.at(id).at(gpu->gpuId));
    // Images without compute state contain only the id of a GPU, so criu matches by the id.
    for (const model::GpuMapping& mapping : context_.options.gpuMap)
        if (isId(mapping.from, user))
            return here_.named(mapping.to);
    if (const Node* const gpu = here_.findGpu(user))
        return *gpu;
    Error error(0, fmt::format("there is no GPU {:#06x} here, whose render node was in use", user));
    error.addHint("choose one by --gpu-map");
    throw error;
}

const std::vector<FileId>* RestorePlan::companions(FileId id) const {
    const auto found = companions_.find(id);
    return found == companions_.end() ? nullptr : &found->second;
}

std::optional<FileId> RestorePlan::sameAs(FileId id) const {
    const auto found = sameAs_.find(id);
    return found == sameAs_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<FileId> RestorePlan::drmFile(FileId id, GpuId user) const {
    const auto found = drmFiles_.find({id, user});
    return found == drmFiles_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace criu::amdgpu
