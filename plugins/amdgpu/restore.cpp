// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/restore.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>
#include <numeric>

#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/maps.hpp"
#include "criu/kernel/scan.hpp"
#include "images/fdinfo.hpp"
#include "plugins/amdgpu/cpu_copier.hpp"
#include "plugins/amdgpu/drm.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/shared_memory.hpp"

namespace criu::amdgpu {
namespace {

/// Numbers of objects in images that have none.
constexpr std::uint32_t kFirstOwnNumber = 1U << 31;

UniqueFd copyOf(int fd) {
    return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy descriptor {}", fd));
}

/// "//dev/dri/renderD128": paths may have double slashes.
std::string simplified(std::string_view path) {
    std::string out;
    for (const char c : path)
        if (c != '/' || out.empty() || out.back() != '/')
            out += c;
    return out;
}

/// Handles that nobody has are given to buffers of a page each meanwhile.
constexpr std::size_t kMostPlaceholders = 4096;

/// In bytes. CRIU 4.2 writes what the driver lists, which is in pages.
std::uint64_t alignmentOf(const DrmBoEntry& entry) {
    return entry.alignment < kGpuPageSize ? entry.alignment * kGpuPageSize : entry.alignment;
}

bool hasContentOf(const KfdBoEntry& entry) {
    return (entry.alloc_flags & (uapi::kKfdVram | uapi::kKfdGtt)) != 0;
}

}  // namespace

AmdgpuRestore::AmdgpuRestore(Kernel& kernel, const device::Context& context, std::function<MatchRules()> rules,
                             std::function<std::uint64_t()> bufferLimit)
    : kernel_(kernel),
      context_(context),
      rules_(std::move(rules)),
      bufferLimit_(std::move(bufferLimit)),
      contents_(kernel) {}

void AmdgpuRestore::prepare(files::FileRestore& files) {
    for (const FileEntry* const entry : files.entries(FD_TYPES__EXT)) {
        const FileId id{entry->id};
        if (auto kfd = readMessage<CriuKfd>(context_.images, kfdImageName(id)))
            kfds_.emplace(id, std::move(*kfd));
        else if (auto node = readMessage<CriuRenderNode>(context_.images, renderImageName(id)))
            nodes_.emplace(id, std::move(*node));
        else if (auto dmabuf = readMessage<CriuDmabufNode>(context_.images, dmabufImageName(id)))
            dmabufs_.emplace(id, std::move(*dmabuf));
    }
    if (kfds_.empty() && nodes_.empty() && dmabufs_.empty())
        return;
    chooseCompanions(files);
    kernel_.loadLibraries();  // processes that fill their own buffers have other paths
    here_ = Topology::read(kernel_.topology());
    for (const auto& [id, image] : kfds_) {
        if (image->has_primary != 0)
            continue;
        const ErrorContext context([&, &id = id] { return kfdImageName(id); });
        sources_.emplace(id, Topology::fromImage(*image));
        allowed_.emplace(id, here_);
        const std::vector<TreePid> users = files.users(id);
        const TreePid noted(static_cast<pid_t>(image->pid));
        holders_.emplace(id, users.empty() ? noted : users.front());
        pids_.insert(noted);
    }
    chooseGpus();  // those that fit nowhere are refused before anything is made
    numberObjects();
    collectObjects();
}

/// Which render node has the address space of a process' compute state is noted in images, if it was found out. Where
/// it isn't, as in those of CRIU 4.2, all files of that node become one description, as with 4.2's own restore: then
/// none of them is the wrong one. Only files with buffers stay by themselves, since both may have a buffer of the same
/// handle.
void AmdgpuRestore::chooseCompanions(files::FileRestore& files) {
    for (const auto& [id, image] : kfds_) {
        if (image->has_primary != 0)
            continue;
        // A process' own render nodes before such as it has in common with others.
        std::vector<std::pair<std::size_t, FileId>> candidates;
        for (const FileId other : files.besides(id))
            if (nodes_.contains(other))
                candidates.emplace_back(files.users(other).size(), other);
        std::stable_sort(candidates.begin(), candidates.end(),
                         [](const auto& one, const auto& other) { return one.first < other.first; });
        std::vector<FileId>& companions = companions_[id];
        for (const auto& [users, other] : candidates)
            companions.push_back(other);
        for (const KfdDeviceEntry* const gpu : list(image->device_entries, image->n_device_entries)) {
            std::vector<FileId> same;
            for (const FileId other : companions)
                if (gpu->gpu_id != 0 && nodes_.at(other)->drm_render_minor == gpu->drm_render_minor)
                    same.push_back(other);
            if (same.empty())
                continue;
            if (gpu->has_drm_file != 0) {
                if (std::find(same.begin(), same.end(), FileId{gpu->drm_file}) != same.end())
                    drmFiles_.emplace(std::pair(id, gpu->gpu_id), FileId{gpu->drm_file});
                continue;
            }
            const auto hasBuffers = [&](FileId other) { return nodes_.at(other)->n_bo_entries != 0; };
            const auto owner = std::find_if(same.begin(), same.end(), hasBuffers);
            const FileId chosen = owner != same.end() ? *owner : same.front();
            drmFiles_.emplace(std::pair(id, gpu->gpu_id), chosen);
            for (const FileId other : same)
                if (other != chosen && !hasBuffers(other))
                    sameAs_.emplace(other, chosen);
        }
    }
}

namespace {

bool hasGpu(const Topology& topology, const std::string& name) {
    try {
        (void)topology.named(name);
        return true;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::vector<model::GpuMapping> AmdgpuRestore::mapped(const Topology& source) const {
    std::vector<model::GpuMapping> found;
    for (const model::GpuMapping& mapping : context_.options.gpuMap) {
        const bool ofOthers = std::any_of(sources_.begin(), sources_.end(),
                                          [&](const auto& one) { return hasGpu(one.second, mapping.from); });
        if (!ofOthers || hasGpu(source, mapping.from))
            found.push_back(mapping);
    }
    return found;
}

/// Processes of one tree shared GPUs, under whatever ids: what is chosen for one holds for all. Those that may use the
/// fewest GPUs have the least choice, so they come first.
void AmdgpuRestore::chooseGpus() {
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

/// Of several device control groups that a process is in each may forbid a GPU. Only the driver knows what comes of
/// that, and shows it to those in the group: by the files of its topology that can be read. To restore a process it
/// wants exactly as many GPUs as the process may open.
void AmdgpuRestore::visitGroups(const device::InGroupsOf& inGroupsOf) {
    struct Seen {
        std::uint32_t count;
        GpuId ids[1];
    };
    const std::size_t most = here_.gpus().size();
    const Mapping memory = Mapping::anonymous(pageAlignUp(sizeof(Seen) + most * sizeof(GpuId)), MAP_SHARED);
    auto& seen = *memory.as<Seen>();
    for (const auto& [id, source] : sources_) {
        const TreePid holder = holders_.at(id);
        seen.count = 0;
        inGroupsOf(holder, [&] {
            const Topology inGroups = Topology::read(kernel_.topology());
            for (const Node* const gpu : inGroups.gpus())
                if (gpu->hasRenderNode() && seen.count < most)
                    seen.ids[seen.count++] = gpu->gpuId;
        });
        const std::set<GpuId> ids(seen.ids, seen.ids + std::min<std::size_t>(seen.count, most));
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

const Node& AmdgpuRestore::newGpu(std::uint32_t oldMinor, GpuId user) const {
    for (const auto& [id, source] : sources_)
        if (const Node* const gpu = source.findMinor(oldMinor))
            return *here_.findGpu(maps_.at(id).at(gpu->gpuId));
    // Nobody computes: there is nothing to match by but the id.
    for (const model::GpuMapping& mapping : context_.options.gpuMap)
        if (mapping.from == fmt::format("{}", user) || mapping.from == fmt::format("{:#x}", user))
            return here_.named(mapping.to);
    if (const Node* const gpu = here_.findGpu(user))
        return *gpu;
    Error error(0, fmt::format("there is no GPU {:#06x} here, whose render node was in use", user));
    error.addHint("choose one by --gpu-map");
    throw error;
}

bool AmdgpuRestore::isImported(const DrmBoEntry& buffer) const {
    return buffer.is_import != 0;
}

/// Images of CRIU 4.2 have handles only, of several tables that all count from 1: what imports and what it imports must
/// have the same size, too. A buffer that 4.2 took for an import because of its number alone is one of its own.
void AmdgpuRestore::numberObjects() {
    struct Owner {
        std::uint32_t handle = 0;
        std::uint64_t size = 0;
        std::uint32_t object = 0;
    };
    std::vector<Owner> owners;
    std::uint32_t next = kFirstOwnNumber;
    const auto own = [&](auto& buffer) {
        buffer.has_object = 1;
        buffer.object = next++;
        owners.push_back({buffer.handle, buffer.size, buffer.object});
    };
    for (auto& [id, image] : kfds_)
        for (KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (buffer->has_object == 0)
                own(*buffer);
    for (const bool imports : {false, true})
        for (auto& [id, image] : nodes_)
            for (DrmBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries)) {
                if (buffer->has_object != 0 || isImported(*buffer) != imports)
                    continue;
                const auto owner = std::find_if(owners.begin(), owners.end(), [&](const Owner& candidate) {
                    return candidate.handle == buffer->handle && candidate.size == buffer->size;
                });
                buffer->is_import = imports && owner != owners.end() ? 1 : 0;
                if (buffer->is_import == 0) {
                    own(*buffer);
                    continue;
                }
                context_.log.warn(
                    "amdgpu: {}: buffer {} is taken for an import of another one of {} bytes, as images of "
                    "CRIU 4.2 don't tell for sure",
                    renderImageName(id), buffer->handle, buffer->size);
                buffer->has_object = 1;
                buffer->object = owner->object;
            }
    for (auto& [id, image] : dmabufs_) {
        if (image->has_object != 0)
            continue;
        const auto owner = std::find_if(owners.begin(), owners.end(), [&, &image = image](const Owner& candidate) {
            return candidate.handle == image->gem_handle;
        });
        if (owner == owners.end())
            fail("{} refers to GPU buffer {}, which no image has", dmabufImageName(id), image->gem_handle);
        // 4.2 asks the files that it has dumped so far, the last one first, for a number, and takes it for that of
        // whatever buffer has the same number in any file.
        if (nodes_.size() > 1)
            context_.log.warn(
                "amdgpu: {}: DMA-BUF {} is taken for one of the buffer with that number, as images of CRIU 4.2 of "
                "several render nodes don't tell for sure",
                dmabufImageName(id), image->gem_handle);
        image->has_object = 1;
        image->object = owner->object;
    }
}

void AmdgpuRestore::collectObjects() {
    std::set<Object> wanted;
    for (const auto& [id, image] : kfds_)
        for (const KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (!owned_.insert(buffer->object).second && buffer->object != 0)
                fail("{}: buffer {} is in another process, too: the driver would make two of it", kfdImageName(id),
                     buffer->object);
    for (const auto& [id, image] : nodes_)
        for (const DrmBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (!isImported(*buffer))
                owned_.insert(buffer->object);
    const auto want = [&](Object object, const std::string& who) {
        if (!owned_.contains(object))
            fail("{} refers to GPU buffer {}, which no image has", who, object);
        wanted.insert(object);
    };
    for (const auto& [id, image] : nodes_)
        for (const DrmBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (isImported(*buffer))
                want(buffer->object, renderImageName(id));
    for (const auto& [id, image] : dmabufs_)
        want(image->object, dmabufImageName(id));
    wanted_ = wanted.size();
    objects_.emplace(wanted);
}

std::size_t AmdgpuRestore::descriptors() const {
    std::size_t own = device::ContentChannel::kDescriptors;
    for (const auto& [id, image] : kfds_)
        own += 1 + image->num_of_gpus;
    if (!kfds_.empty())
        own += here_.gpus().size();
    return own + wanted_ + nodes_.size();
}

void AmdgpuRestore::share(kernel::FdStore& store) {
    // Which of them the processes get isn't known before there are control groups.
    if (!sources_.empty())
        for (const Node* const gpu : here_.gpus())
            if (gpu->hasRenderNode() && kernel_.device(renderPath(gpu->renderMinor)) != 0)
                hostNodes_.emplace(gpu->renderMinor, store.inherit(kernel::FdKey::Device,
                                                                   kernel_.open(renderPath(gpu->renderMinor), O_PATH)));
    const bool content = !kfds_.empty() || !nodes_.empty();
    if (content && context_.options.gpuParallel)
        channel_.emplace(contents_, context_.images, bufferLimit_(), context_.stop, store);
}

bool AmdgpuRestore::owns(FileId id) const {
    return kfds_.contains(id) || nodes_.contains(id) || dmabufs_.contains(id);
}

std::vector<FileId> AmdgpuRestore::needs(FileId id, const files::FileRestore&) const {
    if (const auto same = sameAs_.find(id); same != sameAs_.end())
        return {same->second};
    const auto found = companions_.find(id);
    return found == companions_.end() ? std::vector<FileId>{} : found->second;
}

void AmdgpuRestore::forked() {
    if (channel_)
        channel_->start();
}

/// A child begins with a copy of what its creator has. Render nodes may be meant for both, compute state is not: there
/// doorbells and the like have the same offsets in all processes.
AmdgpuRestore::Own& AmdgpuRestore::own() {
    if (own_.pid != ::getpid()) {
        own_.pid = ::getpid();
        own_.kfd = -1;
        std::erase_if(own_.moved, [](const Moved& moved) { return moved.oldMinor == 0; });
    }
    return own_;
}

int AmdgpuRestore::holdOpen(files::FileOpener& opener, UniqueFd fd) {
    return heldOpen_.emplace_back(opener.toServiceRange(std::move(fd))).get();
}

/// Hands contents to the master, or moves them here.
void AmdgpuRestore::addContent(std::vector<device::ContentRequest>& requests) {
    if (channel_) {
        for (const device::ContentRequest& request : requests)
            channel_->send(request);
        requests.clear();
        return;
    }
    if (requests.empty())
        return;
    std::map<std::string, std::uint64_t> needed;
    for (const device::ContentRequest& request : requests) {
        std::uint64_t& end = needed[request.file];
        end = std::max(end, request.offset + request.size);
    }
    std::map<std::string, UniqueFd> files;
    for (const auto& [name, end] : needed)
        files.emplace(name, contents_.openContent(context_.images, name, end));
    device::ContentMover mover(contents_, device::Direction::Load, bufferLimit_(), nullptr);
    for (device::ContentRequest& request : requests)
        mover.add(request.device,
                  {std::move(request.buffer), request.size, files.at(request.file).get(), request.offset});
    mover.finish();
    mover.report(context_.log);
}

device::DeviceRestore::Opened AmdgpuRestore::open(FileId id, files::FileOpener& opener) {
    if (const auto kfd = kfds_.find(id); kfd != kfds_.end()) {
        openKfd(id, *kfd->second, opener);
    } else if (const auto node = nodes_.find(id); node != nodes_.end()) {
        openRender(id, *node->second, opener);
    } else if (const auto dmabuf = dmabufs_.find(id); dmabuf != dmabufs_.end()) {
        opener.provide(id, objects_->fetch(dmabuf->second->object));
    } else {
        return Opened::NotMine;
    }
    return Opened::Done;
}

void AmdgpuRestore::openKfd(FileId id, const CriuKfd& image, files::FileOpener& opener) {
    UniqueFd file = kernel_.open(kKfdPath, O_RDWR);
    if (image.has_primary != 0) {
        opener.provide(id, std::move(file));
        return;
    }
    const Kfd kfd(kernel_, file.get());
    kfd.requireCriu();

    const Topology& source = sources_.at(id);
    const GpuMap& map = maps_.at(id);
    KfdState state;
    state.objects = image.num_of_objects;
    const auto privateData = bytesOf(image.priv_data);
    state.privateData.assign(privateData.begin(), privateData.end());
    std::map<GpuId, int> drmFds;
    for (const Node* const gpu : source.gpus()) {
        const Node& to = *here_.findGpu(map.at(gpu->gpuId));
        // The process goes on to map new buffers by the render node that its address space belongs to.
        int drm = -1;
        if (const auto noted = drmFiles_.find({id, gpu->gpuId}); noted != drmFiles_.end())
            if (const auto open = own().renderFds.find(noted->second); open != own().renderFds.end())
                drm = open->second;
        if (drm < 0)
            drm = holdOpen(opener, openForDriver(to.renderMinor));
        drmFds[gpu->gpuId] = drm;
        state.devices.push_back({gpu->gpuId, to.gpuId, static_cast<std::uint32_t>(drm), 0});
    }
    for (const KfdBoEntry* const entry : list(image.bo_entries, image.n_bo_entries)) {
        uapi::KfdBuffer buffer{};
        buffer.address = entry->addr;
        buffer.size = entry->size;
        buffer.offset = entry->offset;
        buffer.gpuId = entry->gpu_id;
        buffer.flags = entry->alloc_flags;
        state.buffers.push_back(buffer);
        if (!map.contains(entry->gpu_id))
            fail("the buffer at {:#x} is of GPU {:#06x}, which the process didn't have", entry->addr, entry->gpu_id);
    }
    kfd.restore(state);

    // Descriptors first: from here on they are somebody's.
    std::vector<UniqueFd> dmabufs(state.buffers.size());
    for (std::size_t at = 0; at < state.buffers.size(); ++at)
        if (state.buffers[at].dmabufFd != kNoDmabuf)
            dmabufs[at].reset(static_cast<int>(state.buffers[at].dmabufFd));
    const int kfdHeld = own().kfd = holdOpen(opener, copyOf(file.get()));

    std::map<GpuId, std::uint64_t> filled;
    std::vector<device::ContentRequest> contents;
    for (std::size_t at = 0; at < state.buffers.size(); ++at) {
        const KfdBoEntry& entry = *image.bo_entries[at];
        const uapi::KfdBuffer& buffer = state.buffers[at];
        const bool content = hasContentOf(entry);
        own().moved.push_back({content ? source.findGpu(entry.gpu_id)->renderMinor : 0, entry.offset, entry.size,
                               buffer.restoredOffset, content ? drmFds.at(entry.gpu_id) : kfdHeld});
        if (!content)
            continue;
        if (!dmabufs[at])
            fail("the driver gave no DMA-BUF for the buffer at {:#x}", entry.addr);
        if (const Object object = entry.object; objects_->wants(object))
            objects_->publish(object, holdOpen(opener, copyOf(dmabufs[at].get())));
        std::uint64_t& offset = filled.try_emplace(entry.gpu_id, kContentStart).first->second;
        contents.push_back({here_.findGpu(map.at(entry.gpu_id))->renderMinor, pagesImageName(id, entry.gpu_id), offset,
                            entry.size, std::move(dmabufs[at])});
        offset += entry.size;
    }
    dmabufs.clear();
    addContent(contents);
    contents.clear();
    makeSharedMemory({image.shared_mem_size, image.shared_mem_magic});
    opener.provide(id, std::move(file));
}

/// The driver wants a file of every GPU, of those, too, that a container hasn't got and its processes never used.
UniqueFd AmdgpuRestore::openForDriver(std::uint32_t renderMinor) {
    try {
        return kernel_.open(renderPath(renderMinor), O_RDWR);
    } catch (const Error& error) {
        if (error.code() != ENOENT || !hostNodes_.contains(renderMinor))
            throw;
    }
    const auto host = hostNodes_.find(renderMinor);
    return kernel_.open(fmt::format("/proc/self/fd/{}", host->second.get()), O_RDWR);
}

void AmdgpuRestore::openRender(FileId id, const CriuRenderNode& image, files::FileOpener& opener) {
    const Node& to = newGpu(image.drm_render_minor, image.gpu_id);
    if (const auto same = sameAs_.find(id); same != sameAs_.end())
        if (const auto open = own().renderFds.find(same->second); open != own().renderFds.end()) {
            opener.provide(id, copyOf(open->second));
            return;
        }
    UniqueFd file = kernel_.open(renderPath(to.renderMinor), O_RDWR);
    const int fd = own().renderFds[id] = holdOpen(opener, copyOf(file.get()));
    const Drm drm(kernel_, fd);
    std::vector<device::ContentRequest> contents;
    // A new buffer gets the lowest handle that is free (drm_gem.c). The call that would give it another one was taken
    // back in Linux 6.18.36, so handles that nobody has are filled for a while, unless they are too many.
    std::vector<std::size_t> order(image.n_bo_entries);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return image.bo_entries[one]->handle < image.bo_entries[other]->handle;
    });
    const bool fills =
        !order.empty() && image.bo_entries[order.back()]->handle <= image.n_bo_entries + kMostPlaceholders;
    std::uint32_t next = 1;
    bool imports = false;
    for (const std::size_t at : order) {
        const DrmBoEntry& entry = *image.bo_entries[at];
        for (; fills && next < entry.handle; ++next)
            placeholder(drm, id, next);
        ++next;
        if (isImported(entry)) {  // complete()
            imports = true;
            if (fills)
                placeholder(drm, id, entry.handle);
            continue;
        }
        const ErrorContext context(
            [&] { return fmt::format("buffer {} of {}", entry.handle, renderPath(to.renderMinor)); });
        drm.changeHandle(
            drm.create(entry.size, alignmentOf(entry), entry.preferred_domains, entry.alloc_flags & uapi::kCreateFlags),
            entry.handle);
        if (!canExport(entry)) {
            loadPrivate(image, at, id, fd);
            restoreBuffer(id, image, at, fd, {});
            continue;
        }
        UniqueFd dmabuf = drm.exportBuffer(entry.handle);
        if (const Object object = entry.object; objects_->wants(object))
            objects_->publish(object, holdOpen(opener, copyOf(dmabuf.get())));
        restoreBuffer(id, image, at, fd, {});
        contents.push_back({to.renderMinor, renderPagesImageName(id, image.drm_render_minor, at), kContentStart,
                            entry.size, std::move(dmabuf)});
    }
    if (!imports)
        dropPlaceholders(drm, id);
    addContent(contents);
    contents.clear();
    opener.provide(id, std::move(file));
}

bool AmdgpuRestore::canExport(const DrmBoEntry& buffer) {
    return (buffer.alloc_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) == 0;
}

void AmdgpuRestore::placeholder(const Drm& drm, FileId id, std::uint32_t handle) {
    const std::uint32_t got = drm.create(kGpuPageSize, kGpuPageSize, AMDGPU_GEM_DOMAIN_GTT, 0);
    own().placeholders[id].insert(got);
    if (got != handle)
        fail("a new buffer has the handle {}, the lowest one that is free is {}", got, handle);
}

void AmdgpuRestore::dropPlaceholders(const Drm& drm, FileId id) {
    for (const std::uint32_t handle : own().placeholders[id])
        drm.close(handle);
    own().placeholders.erase(id);
}

/// By the processor, since nobody else can be given the buffer.
void AmdgpuRestore::loadPrivate(const CriuRenderNode& image, std::size_t index, FileId id, int fd) {
    const DrmBoEntry& entry = *image.bo_entries[index];
    const std::string name = renderPagesImageName(id, image.drm_render_minor, index);
    const UniqueFd file = contents_.openContent(context_.images, name, kContentStart + entry.size);
    loadMapped(kernel_, fd, Drm(kernel_, fd).mmapOffset(entry.handle), entry.size, file.get(), kContentStart, [] {});
}

/// What is the same for buffers that were made and those that were imported; the latter come as `dmabuf`.
void AmdgpuRestore::restoreBuffer(FileId id, const CriuRenderNode& image, std::size_t index, int fd, UniqueFd dmabuf) {
    const DrmBoEntry& entry = *image.bo_entries[index];
    const Drm drm(kernel_, fd);
    if (dmabuf) {
        if (own().placeholders[id].erase(entry.handle) != 0)
            drm.close(entry.handle);
        drm.changeHandle(drm.importBuffer(dmabuf.get()), entry.handle);
    }
    for (const DrmVmEntry* const vm : list(entry.vm_entries, entry.n_vm_entries))
        drm.mapVa(entry.handle, vm->addr, vm->offset, vm->size, static_cast<std::uint32_t>(vm->flags));
    if (const auto offset = drm.tryMmapOffset(entry.handle))
        own().moved.push_back({image.drm_render_minor, entry.offset, entry.size, *offset, fd});
}

void AmdgpuRestore::complete(FileId id, files::PlacedFiles&) {
    const auto node = nodes_.find(id);
    if (node == nodes_.end())
        return;
    const CriuRenderNode& image = *node->second;
    std::map<std::uint32_t, std::size_t> imports;
    for (std::size_t at = 0; at < image.n_bo_entries; ++at)
        if (isImported(*image.bo_entries[at]))
            imports.emplace(image.bo_entries[at]->handle, at);
    if (imports.empty())
        return;
    const int fd = own().renderFds.at(id);
    for (const auto& [handle, at] : imports) {
        const ErrorContext context([&, &handle = handle] { return fmt::format("imported buffer {}", handle); });
        restoreBuffer(id, image, at, fd, objects_->fetch(image.bo_entries[at]->object));
    }
    dropPlaceholders(Drm(kernel_, fd), id);
}

std::optional<device::Relocated> AmdgpuRestore::relocate(const device::DeviceMapping& mapping) {
    const std::string path = simplified(mapping.path);
    std::uint32_t minor = 0;
    if (path != kKfdPath) {
        kernel::Scanner scan(path);
        if (!scan.skip("/dev/dri/renderD") || !scan.number(minor) || !scan.done())
            return std::nullopt;
    }
    for (const Moved& moved : own().moved)
        if (moved.oldMinor == minor && mapping.offset >= moved.offset && mapping.offset - moved.offset < moved.size)
            return device::Relocated{moved.newOffset + (mapping.offset - moved.offset), copyOf(moved.fd)};
    if (minor == 0 && own().kfd >= 0 && (mapping.offset & uapi::kKfdMmapTypeMask) == uapi::kKfdMmapEvents)
        return device::Relocated{mapping.offset, copyOf(own().kfd)};
    fail("memory at {:#x} maps offset {:#x} of {}, where no buffer of the process was", mapping.start, mapping.offset,
         path);
}

void AmdgpuRestore::resume(compel::FrozenProcess& process, TreePid pid) {
    // Nobody's queues run before everybody's buffers are filled: GPUs read each other's memory.
    if (channel_ && channel_->finish())
        channel_->report(context_.log);
    if (pids_.empty())
        return;
    if (!masterKfd_)
        masterKfd_ = kernel_.open(kKfdPath, O_RDWR);
    if (!Kfd(kernel_, masterKfd_.get()).resume(HostPid(process.pid())) && pids_.contains(pid))
        fail("the driver doesn't know of the process' compute state");
}

}  // namespace criu::amdgpu
