// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/restore.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>
#include <numeric>

#include "criu/base/stop_request.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "plugins/amdgpu/client_restore.hpp"
#include "plugins/amdgpu/driver/drm.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/mmap_ids.hpp"
#include "plugins/amdgpu/resume_watch.hpp"
#include "plugins/amdgpu/shared_memory.hpp"

namespace criu::amdgpu {
namespace {

UniqueFd restoredCopyOf(int fd) {
    return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy descriptor {}", fd));
}

/// Time within which queues must start, if the user gave no --timeout.
constexpr std::chrono::seconds kResumePatience{10};

/// Replaces double slashes in paths, as in "//dev/dri/renderD128".
std::string simplified(std::string_view path) {
    std::string out;
    for (const char c : path)
        if (c != '/' || out.empty() || out.back() != '/')
            out += c;
    return out;
}

/// Returns the alignment in bytes. CRIU 4.2 stores the alignment as the driver reports it: in pages.
std::uint64_t alignmentOf(const DrmBoEntry& entry) {
    return entry.alignment < kGpuPageSize ? entry.alignment * kGpuPageSize : entry.alignment;
}

/// Returns the new place of a mapping that begins `skipped` bytes after the start of a buffer. The caller must map the
/// buffer from its start, because drivers find no other offsets (drm_gem_mmap()). It must map doorbells completely
/// (kfd_doorbell_mmap() of kfd_doorbell.c, Linux 6.1).
device::Relocated relocated(std::uint64_t offset, UniqueFd fd, std::uint64_t skipped, std::uint64_t whole) {
    return {offset, std::move(fd), skipped, whole};
}

bool canExport(const DrmBoEntry& buffer) noexcept {
    return (buffer.alloc_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) == 0;
}

/// Creates a buffer that isn't imported, and returns its handle.
std::uint32_t createBuffer(const Drm& drm, const DrmBoEntry& entry) {
    if (entry.has_user_address != 0)
        return drm.createUserptr(entry.user_address, entry.size);
    return drm.create(entry.size, alignmentOf(entry), entry.preferred_domains, entry.alloc_flags & uapi::kCreateFlags);
}

void restoreNotes(const Drm& drm, const DrmBoEntry& entry) {
    if (entry.has_metadata == 0)
        return;
    const auto data = bytesOf(entry.metadata);
    drm.setNotes(entry.handle, {entry.tiling, entry.metadata_flags, {data.begin(), data.end()}});
}

/// Returns true if two descriptors refer to one DMA-BUF, and so to one buffer.
bool areSameFile(Kernel& kernel, int one, int other) {
    const struct stat first = kernel.status(one);
    const struct stat second = kernel.status(other);
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Returns a key of a render node's buffer. Buffers of all render nodes have different keys.
std::uint64_t bufferKey(FileId node, std::size_t index) {
    return std::uint64_t{node.value} << 32 | index;
}

/// Returns a hint for a RESTORE without enough memory: the bytes of video memory that a process had on each GPU.
std::string describeRoom(const CriuKfd& image, const Topology& source) {
    std::string text;
    for (const Node* const gpu : source.gpus()) {
        std::uint64_t bytes = 0;
        for (const KfdBoEntry* const entry : list(image.bo_entries, image.n_bo_entries))
            if (entry->gpu_id == gpu->gpuId && (entry->alloc_flags & uapi::kKfdVram) != 0)
                bytes += entry->size;
        if (bytes != 0)
            text += fmt::format("the process had {} bytes of memory on {}; ", bytes, gpu->describe());
    }
    return text + "end other programs that use the GPUs here, or choose other GPUs by --gpu-map";
}

}  // namespace

AmdgpuRestore::AmdgpuRestore(Kernel& kernel, const device::Context& context, std::function<MatchRules()> rules,
                             std::function<std::uint64_t()> bufferLimit)
    : kernel_(kernel),
      context_(context),
      plan_(kernel, context_, std::move(rules)),
      contents_(kernel, context_, std::move(bufferLimit)),
      watch_(std::make_shared<ResumeWatch>()) {}

void AmdgpuRestore::prepare(files::FileRestore& files) {
    if (!plan_.prepare(files))
        return;
    contents_.prepare(plan_.images());
    kernel_.loadLibraries();  // processes that fill buffers may have a root directory without libraries
    const RestoreImages& images = plan_.images();
    std::set<std::uint64_t> nodes;
    std::set<std::uint64_t> buffers;
    for (const auto& [id, image] : images.nodes) {
        nodes.insert(id.value);
        for (std::size_t at = 0; at < image->n_bo_entries; ++at)
            buffers.insert(bufferKey(id, at));
    }
    if (context_.store != nullptr)
        context_.store->openQueue();
    objects_.emplace(plan_.imported(), context_.store);
    renderFiles_.emplace(nodes, context_.store);
    mmapOffsets_.emplace(buffers);
}

void AmdgpuRestore::visitGroups(const device::ProcessGroups& groups) {
    plan_.visitGroups(groups);
    for (const auto& [id, image] : plan_.images().kfds) {
        if (image->has_primary != 0)
            continue;
        const GpuMap& map = plan_.map(id);
        const auto buffers = list(image->bo_entries, image->n_bo_entries);
        if (std::all_of(map.begin(), map.end(), [](const auto& one) { return one.first == one.second; }) ||
            std::none_of(buffers.begin(), buffers.end(),
                         [](const KfdBoEntry* buffer) { return isMappedByKfd(buffer->alloc_flags); }))
            continue;
        mapsByUserIds_ = findMmapIds(kernel_, plan_.here(), bytesOf(image->priv_data)) == MmapIds::User;
        break;
    }
}

std::size_t AmdgpuRestore::descriptors() const {
    std::size_t own = device::ContentChannel::kDescriptors;
    for (const auto& [id, image] : plan_.images().kfds) {
        own += 1 + image->num_of_gpus;
        for (const KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            own += buffer->imported != 0 ? 1 : 0;
    }
    if (!plan_.images().kfds.empty())
        own += plan_.here().gpus().size();
    return own + plan_.images().nodes.size();
}

void AmdgpuRestore::share(kernel::FdStore& store) {
    // criu knows which GPUs each process may use only when control groups exist.
    if (plan_.computes())
        for (const Node* const gpu : plan_.here().gpus())
            if (gpu->hasRenderNode() && kernel_.device(renderPath(gpu->renderMinor)) != 0)
                hostNodes_.emplace(gpu->renderMinor, store.inherit(kernel::FdKey::Device,
                                                                   kernel_.open(renderPath(gpu->renderMinor), O_PATH)));
    if (!plan_.images().kfds.empty() || !plan_.images().nodes.empty())
        contents_.share(store);
}

bool AmdgpuRestore::owns(FileId id) const {
    return plan_.images().kfds.contains(id) || plan_.images().nodes.contains(id) || plan_.images().dmabufs.contains(id);
}

std::vector<FileId> AmdgpuRestore::needs(FileId id, const files::FileRestore&) const {
    if (const auto same = plan_.sameAs(id))
        return {*same};
    const std::vector<FileId>* const companions = plan_.companions(id);
    return companions == nullptr ? std::vector<FileId>{} : *companions;
}

void AmdgpuRestore::startWork() {
    contents_.startWork();
}

/// Returns the state of this process. A child starts with a copy of its creator's state. It may use the creator's
/// render nodes. It must not use the creator's compute state, because doorbells of all processes have the same offsets,
/// and shared memory may still be replaced.
AmdgpuRestore::Own& AmdgpuRestore::own() {
    if (own_.pid != ::getpid()) {
        own_.pid = ::getpid();
        own_.kfd = -1;
        std::erase_if(own_.moved, [](const Moved& moved) { return moved.compute; });
        own_.imports.clear();
    }
    return own_;
}

int AmdgpuRestore::holdOpen(files::FileOpener& opener, UniqueFd fd) {
    return heldOpen_.emplace_back(opener.toServiceRange(std::move(fd))).get();
}

/// Closes a descriptor of heldOpen_ early, because it keeps memory of a GPU in use.
void AmdgpuRestore::closeHeld(int fd) {
    std::erase_if(heldOpen_, [fd](const UniqueFd& held) { return held.get() == fd; });
}

device::DeviceRestore::Opened AmdgpuRestore::open(FileId id, files::FileOpener& opener) {
    if (const auto kfd = plan_.images().kfds.find(id); kfd != plan_.images().kfds.end()) {
        openKfd(id, *kfd->second, opener);
    } else if (const auto node = plan_.images().nodes.find(id); node != plan_.images().nodes.end()) {
        openRender(id, *node->second, opener);
    } else if (const auto dmabuf = plan_.images().dmabufs.find(id); dmabuf != plan_.images().dmabufs.end()) {
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

    const Topology& source = plan_.source(id);
    const GpuMap& map = plan_.map(id);
    KfdState state;
    state.objects = image.num_of_objects;
    const auto privateData = bytesOf(image.priv_data);
    state.privateData.assign(privateData.begin(), privateData.end());
    std::map<GpuId, int> drmFds;
    for (const Node* const gpu : source.gpus()) {
        const Node& to = *plan_.here().findGpu(map.at(gpu->gpuId));
        // Gives RESTORE the process' own render node: it maps new buffers in the GPU address space of this node.
        int drm = -1;
        if (const auto noted = plan_.drmFile(id, gpu->gpuId))
            if (const auto open = own().renderFds.find(*noted); open != own().renderFds.end())
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
    try {
        kfd.restore(state);
    } catch (Error& error) {
        if (const std::string hint = plan_.explainRefusal(image, error.code()); !hint.empty())
            error.addHint(hint);
        if (error.code() == ENOMEM)
            error.addHint(describeRoom(image, source));
        throw;
    }

    // Becomes the owner of the descriptors first, so that a failure closes them.
    std::vector<UniqueFd> dmabufs(state.buffers.size());
    for (std::size_t at = 0; at < state.buffers.size(); ++at)
        if (state.buffers[at].dmabufFd != kNoDmabuf)
            dmabufs[at].reset(static_cast<int>(state.buffers[at].dmabufFd));
    const int kfdHeld = own().kfd = holdOpen(opener, restoredCopyOf(file.get()));

    std::map<GpuId, std::uint64_t> filled;
    std::vector<device::ContentRequest> contents;
    for (std::size_t at = 0; at < state.buffers.size(); ++at) {
        const KfdBoEntry& entry = *image.bo_entries[at];
        const uapi::KfdBuffer& buffer = state.buffers[at];
        const bool content = hasContent(entry);
        // RESTORE returns offsets with the machine's GPU ids (criu_restore_memory_of_gpu(), Linux 6.1 to 7.3).
        const std::uint64_t offset = mapsByUserIds_ && isMappedByKfd(buffer.flags)
                                         ? withGpu(buffer.restoredOffset, entry.gpu_id)
                                         : buffer.restoredOffset;
        own().moved.push_back({true, content ? source.findGpu(entry.gpu_id)->renderMinor : 0, entry.offset, entry.size,
                               offset, content ? drmFds.at(entry.gpu_id) : kfdHeld});
        if (!content)
            continue;
        if (!dmabufs[at])
            fail("the driver gave no DMA-BUF for the buffer at {:#x}", entry.addr);
        const Node& to = *plan_.here().findGpu(map.at(entry.gpu_id));
        std::uint64_t& filePosition = filled[entry.gpu_id];
        if (entry.imported != 0) {
            const int made = holdOpen(opener, std::move(dmabufs[at]));
            own().imports[id].push_back(
                {{entry.gpu_id, to.gpuId, entry.addr, made, entry.object}, own().moved.size() - 1, to.renderMinor});
        } else {
            if (const std::uint64_t object = entry.object; objects_->wants(object))
                objects_->publish(object, dmabufs[at].get());
            contents.push_back({to.renderMinor, RestoreContents::placeOf(id, image, entry, filePosition), entry.size,
                                std::move(dmabufs[at])});
        }
        filePosition += entry.size;
    }
    dmabufs.clear();
    contents_.load(contents);
    contents.clear();
    makeSharedMemory({image.shared_mem_size, image.shared_mem_magic});
    opener.provide(id, std::move(file));
}

/// Opens a render node for RESTORE, which needs a render node of each GPU. A container may lack the device files of
/// render nodes that the processes never used.
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
    const Node& to = plan_.newGpu(image.drm_render_minor, image.gpu_id);
    if (const auto same = plan_.sameAs(id))
        if (const auto open = own().renderFds.find(*same); open != own().renderFds.end()) {
            opener.provide(id, restoredCopyOf(open->second));
            return;
        }
    UniqueFd file = kernel_.open(renderPath(to.renderMinor), O_RDWR);
    const int fd = own().renderFds[id] = holdOpen(opener, restoredCopyOf(file.get()));
    if (image.n_bo_entries != 0)
        renderFiles_->publish(id.value, fd);
    const Drm drm(kernel_, fd);
    std::vector<device::ContentRequest> contents;
    // A new buffer gets the lowest free handle (drm_gem.c). So placeholder buffers first fill the free handles, up to a
    // limit. Linux 6.18.36 removed the call that changes handles.
    std::vector<std::size_t> order(image.n_bo_entries);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return image.bo_entries[one]->handle < image.bo_entries[other]->handle;
    });
    const bool fills =
        !order.empty() && image.bo_entries[order.back()]->handle <= image.n_bo_entries + kMostFreeHandles;
    std::uint32_t next = 1;
    bool imports = false;
    for (const std::size_t at : order) {
        const DrmBoEntry& entry = *image.bo_entries[at];
        for (; fills && next < entry.handle; ++next)
            placeholder(drm, id, next);
        ++next;
        if (isImported(entry)) {  // complete() imports the buffer
            imports = true;
            if (fills)
                placeholder(drm, id, entry.handle);
            continue;
        }
        const ErrorContext context(
            [&] { return fmt::format("buffer {} of {}", entry.handle, renderPath(to.renderMinor)); });
        drm.changeHandle(createBuffer(drm, entry), entry.handle);
        restoreNotes(drm, entry);
        if (entry.has_user_address != 0) {
            restoreBuffer(id, image, at, fd, {});
            continue;
        }
        if (!canExport(entry)) {
            // The coordinator can't access a buffer that can't be exported. So this process fills the buffer.
            contents_.load({fd, drm.mmapOffset(entry.handle), entry.size}, RestoreContents::placeOf(id, image, at));
            restoreBuffer(id, image, at, fd, {});
            continue;
        }
        UniqueFd dmabuf = drm.exportBuffer(entry.handle);
        if (const std::uint64_t object = entry.object; objects_->wants(object))
            objects_->publish(object, dmabuf.get());
        restoreBuffer(id, image, at, fd, {});
        contents.push_back({to.renderMinor, RestoreContents::placeOf(id, image, at), entry.size, std::move(dmabuf)});
    }
    if (!imports)
        dropPlaceholders(drm, id);
    restoreClient(kernel_, fd, image);
    contents_.load(contents);
    contents.clear();
    opener.provide(id, std::move(file));
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

/// Restores mappings and offset of a buffer. `dmabuf`: DMA-BUF of an imported buffer; empty for a buffer that this
/// process created.
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
    const auto offset = drm.tryMmapOffset(entry.handle);
    if (offset)
        own().moved.push_back({false, image.drm_render_minor, entry.offset, entry.size, *offset, fd});
    mmapOffsets_->publish(bufferKey(id, index), offset.value_or(0));
}

/// Imports the buffers of the compute driver that other processes create.
void AmdgpuRestore::importShared(FileId id) {
    const auto found = own().imports.find(id);
    if (found == own().imports.end())
        return;
    std::vector<GpuId> gpus;
    for (const Node* const gpu : plan_.source(id).gpus())
        gpus.push_back(gpu->gpuId);
    // AMD's driver itself shares memory again that programs shared by IPC handles (criu_restore_memory_of_gpu_ipc() of
    // kfd_chardev.c, DKMS 6.x). Another import of this memory would lose its IPC handle.
    std::erase_if(found->second, [&](const Import& import) {
        const bool joined = areSameFile(kernel_, import.buffer.made, objects_->fetch(import.buffer.object).get());
        if (joined)
            closeHeld(import.buffer.made);
        return joined;
    });
    std::vector<KfdImport> imports;
    for (const Import& import : found->second)
        imports.push_back(import.buffer);
    importBuffers(kernel_, own().kfd, gpus, imports, [&](std::uint64_t object) { return objects_->fetch(object); });
    // Only render nodes report mmap offsets. A file has one handle of a buffer, so criu opens another file.
    for (const Import& import : found->second) {
        const UniqueFd node = openForDriver(import.renderMinor);
        const Drm drm(kernel_, node.get());
        if (const auto offset = drm.tryMmapOffset(drm.importBuffer(objects_->fetch(import.buffer.object).get())))
            own().moved[import.moved].newOffset = *offset;
        closeHeld(import.buffer.made);
    }
    own().imports.erase(found);
}

void AmdgpuRestore::complete(FileId id, files::PlacedFiles&) {
    importShared(id);
    const auto node = plan_.images().nodes.find(id);
    if (node == plan_.images().nodes.end())
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
            return relocated(moved.newOffset, restoredCopyOf(moved.fd), mapping.offset - moved.offset,
                             minor == 0 ? moved.size : 0);
    if (auto found = minor != 0 ? findElsewhere(minor, mapping.offset) : std::nullopt)
        return found;
    if (minor == 0 && own().kfd >= 0 && (mapping.offset & uapi::kKfdMmapTypeMask) == uapi::kKfdMmapEvents)
        return relocated(uapi::kKfdMmapEvents, restoredCopyOf(own().kfd), mapping.offset - uapi::kKfdMmapEvents, 0);
    fail("memory at {:#x} maps offset {:#x} of {}, where no buffer of the process was", mapping.start, mapping.offset,
         path);
}

/// Finds a buffer in any render node that has it: all files of a GPU have one offset for it. Prefers a file of this
/// process.
std::optional<device::Relocated> AmdgpuRestore::findElsewhere(std::uint32_t minor, std::uint64_t offset) {
    for (const bool has : {true, false})
        for (const auto& [id, image] : plan_.images().nodes) {
            const auto file = own().renderFds.find(id);
            if (image->drm_render_minor != minor || (file != own().renderFds.end()) != has)
                continue;
            for (std::size_t at = 0; at < image->n_bo_entries; ++at) {
                const DrmBoEntry& entry = *image->bo_entries[at];
                if (entry.offset == 0 || offset < entry.offset || offset - entry.offset >= entry.size)
                    continue;
                if (const std::uint64_t now = mmapOffsets_->fetch(bufferKey(id, at)); now != 0)
                    return relocated(now, has ? restoredCopyOf(file->second) : renderFiles_->fetch(id.value),
                                     offset - entry.offset, 0);
            }
        }
    return std::nullopt;
}

void AmdgpuRestore::resume(compel::FrozenProcess& process, TreePid pid) {
    // GPUs read each other's memory, so all buffers must be filled before any queue runs.
    contents_.finish();
    if (!plan_.computes())
        return;
    if (!masterKfd_)
        masterKfd_ = kernel_.open(kKfdPath, O_RDWR);
    watch_->add(HostPid(process.pid()));
    if (!Kfd(kernel_, masterKfd_.get()).resume(HostPid(process.pid())) && plan_.pids().contains(pid))
        fail("the driver has no compute state of the process that waits for RESUME");
}

void AmdgpuRestore::resumeAll(std::span<const device::ResumedProcess> processes) {
    DeviceRestore::resumeAll(processes);
    const std::chrono::seconds patience = context_.options.timeout;
    watch_->await(patience.count() != 0 ? patience : kResumePatience, context_.log,
                  [this] { context_.stop.throwIfRequested(); });
}

/// Closes descriptors, because criu may remain as parent until the root task ends.
void AmdgpuRestore::finish() noexcept {
    masterKfd_.reset();
    hostNodes_.clear();
}

}  // namespace criu::amdgpu
