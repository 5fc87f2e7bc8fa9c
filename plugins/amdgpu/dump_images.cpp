// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump_images.hpp"

#include <cstring>

#include "criu/image/arena.hpp"
#include "plugins/amdgpu/driver/driver_identity.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/shared_memory.hpp"

namespace criu::amdgpu {
namespace {

void fillClient(const ClientState& client, CriuRenderNode& image, Arena& arena) {
    image.n_contexts = client.contexts.size();
    image.contexts = arena.messages<DrmContextEntry>(client.contexts.size());
    for (std::size_t at = 0; at < client.contexts.size(); ++at) {
        const ContextState& context = client.contexts[at];
        DrmContextEntry& entry = *image.contexts[at];
        entry.number = context.number;
        entry.priority = context.priority;
        entry.pstate = context.pstate;
        entry.n_rings = context.rings.size();
        entry.rings = arena.messages<DrmRingEntry>(context.rings.size());
        for (std::size_t ring = 0; ring < context.rings.size(); ++ring) {
            entry.rings[ring]->kind = context.rings[ring].kind;
            entry.rings[ring]->ring = context.rings[ring].ring;
            entry.rings[ring]->submissions = context.rings[ring].submissions;
        }
    }
    image.n_sync_objects = client.objects.size();
    image.sync_objects = arena.messages<DrmSyncEntry>(client.objects.size());
    for (std::size_t at = 0; at < client.objects.size(); ++at) {
        image.sync_objects[at]->handle = client.objects[at].handle;
        image.sync_objects[at]->signalled = client.objects[at].signalled ? 1 : 0;
        image.sync_objects[at]->point = client.objects[at].point;
    }
}

}  // namespace

void DumpImages::writeDmabufs() const {
    for (const DumpedDmabuf& dmabuf : tree_.dmabufs) {
        CriuDmabufNode image = CRIU_DMABUF_NODE__INIT;
        image.object = objects_.find(dmabuf.fd.get());
        if (image.object == 0)
            fail("{} is a DMA-BUF of a buffer that no process of the tree has", dmabuf.name);
        image.has_object = 1;
        image.gem_handle = objects_.handleOf(image.object);
        writeImage(context_.images, dmabufImageName(dmabuf.id), image.base);
    }
}

void DumpImages::writeFiles() const {
    for (const DumpedProcess& process : tree_.processes)
        writeKfd(process);
    for (const SecondaryKfd& further : tree_.further)
        writeFurther(further);
    for (const RenderNode& node : tree_.nodes)
        writeRender(node);
}

void DumpImages::writeFurther(const SecondaryKfd& further) const {
    CriuKfd image = CRIU_KFD__INIT;
    for (const DumpedProcess& process : tree_.processes)
        if (process.id == further.primary)
            image.pid = static_cast<std::uint32_t>(process.info.pid);
    image.has_primary = 1;
    image.primary = further.primary.value;
    writeImage(context_.images, kfdImageName(further.id), image.base);
}

/// Returns the id of a GPU in images: the user id in the first process that uses the GPU.
GpuId DumpImages::userId(GpuId local) const {
    for (const DumpedProcess& process : tree_.processes)
        for (const uapi::KfdDevice& device : process.state.devices)
            if (device.actualGpuId == local)
                return device.userGpuId;
    return local;
}

void DumpImages::writeKfd(const DumpedProcess& process) const {
    Arena arena;
    auto& image = *arena.make<CriuKfd>();
    image.pid = static_cast<std::uint32_t>(process.info.pid);  // pid in the innermost pid namespace of the process
    std::vector<Topology::ImageGpu> gpus;
    for (const uapi::KfdDevice& device : process.state.devices)
        gpus.push_back({device.actualGpuId, device.userGpuId});
    topology_.toImage(gpus, image, arena);
    for (KfdDeviceEntry* const entry : list(image.device_entries, image.n_device_entries)) {
        if (entry->gpu_id == 0)
            continue;
        if (const auto file = process.drmFiles.find(entry->gpu_id); file != process.drmFiles.end()) {
            entry->has_drm_file = 1;
            entry->drm_file = file->second.value;
        }
        if (const auto pages = process.contentObjects.find(entry->gpu_id); pages != process.contentObjects.end()) {
            entry->has_content_object = 1;
            entry->content_object = pages->second;
        }
    }
    image.num_of_bos = image.n_bo_entries = process.state.buffers.size();
    image.bo_entries = arena.messages<KfdBoEntry>(process.state.buffers.size());
    for (std::size_t at = 0; at < process.state.buffers.size(); ++at) {
        const uapi::KfdBuffer& buffer = process.state.buffers[at];
        KfdBoEntry& entry = *image.bo_entries[at];
        entry.addr = buffer.address;
        entry.size = buffer.size;
        entry.offset = buffer.offset;
        entry.alloc_flags = buffer.flags;
        entry.gpu_id = buffer.gpuId;
        const Object object = process.objects[at];
        entry.has_handle = 1;
        entry.handle = object != 0 ? objects_.handleOf(object) : kNoDmabuf;
        entry.has_object = object != 0;
        entry.object = object;
        entry.has_imported = entry.imported = process.imported[at];
        entry.has_content_position =
            process.contentObjects.contains(buffer.gpuId) && hasContent(buffer) && !process.imported[at];
        entry.content_position = process.contentPositions[at];
    }
    image.num_of_objects = process.state.objects;
    const SharedMemory shared = readSharedMemory();
    image.shared_mem_size = shared.size;
    image.shared_mem_magic = shared.magic;
    image.priv_data = arena.bytes(process.state.privateData);
    writeDriver(driver_, image, arena);
    // Private data begins with these numbers (kfd_criu_process_priv_data of kfd_priv.h, Linux 6.1 to 7.3).
    std::uint32_t head[2] = {};
    if (process.state.privateData.size() >= sizeof(head)) {
        std::memcpy(head, process.state.privateData.data(), sizeof(head));
        image.has_private_version = image.has_xnack = 1;
        image.private_version = head[0];
        image.xnack = head[1];
    }
    writeImage(context_.images, kfdImageName(process.id), image.base);
}

void DumpImages::writeRender(const RenderNode& node) const {
    Arena arena;
    auto& image = *arena.make<CriuRenderNode>();
    const Node* const gpu = topology_.findMinor(node.minor);
    image.gpu_id = gpu != nullptr ? userId(gpu->gpuId) : 0;
    image.has_id = image.has_drm_render_minor = image.has_num_of_bos = 1;
    image.id = node.id.value;
    image.drm_render_minor = node.minor;
    image.has_content_object = node.contentObject != 0;
    image.content_object = node.contentObject;
    image.num_of_bos = image.n_bo_entries = node.buffers.size();
    image.bo_entries = arena.messages<DrmBoEntry>(node.buffers.size());
    for (std::size_t at = 0; at < node.buffers.size(); ++at) {
        const RenderBuffer& buffer = node.buffers[at];
        DrmBoEntry& entry = *image.bo_entries[at];
        entry.addr = buffer.mappings.empty() ? 0 : buffer.mappings.front().address;
        entry.size = buffer.entry.size;
        entry.offset = buffer.mmapOffset.value_or(0);
        entry.alloc_flags = buffer.entry.allocFlags;
        // GEM_LIST_HANDLES returns the alignment in pages (ttm_buffer_object), but GEM_CREATE needs bytes. For memory
        // of a process, it returns the address in place of the alignment.
        entry.alignment = buffer.isUserptr() ? 0 : buffer.entry.alignment * kGpuPageSize;
        entry.has_user_address = buffer.isUserptr();
        entry.user_address = buffer.isUserptr() ? buffer.entry.alignment : 0;
        entry.preferred_domains = static_cast<std::uint32_t>(buffer.entry.preferredDomains);
        entry.handle = buffer.entry.handle;
        entry.is_import = buffer.imported ? 1 : 0;
        entry.has_object = 1;
        entry.object = buffer.object;
        entry.has_content_position = node.contentObject != 0 && !buffer.imported && !buffer.isUserptr();
        entry.content_position = buffer.contentPosition;
        if (!buffer.notes.empty()) {
            entry.has_tiling = entry.has_metadata_flags = entry.has_metadata = 1;
            entry.tiling = buffer.notes.tiling;
            entry.metadata_flags = buffer.notes.flags;
            entry.metadata = arena.bytes(buffer.notes.data);
        }
        entry.num_of_vms = static_cast<std::uint32_t>(buffer.mappings.size());
        entry.n_vm_entries = buffer.mappings.size();
        entry.vm_entries = arena.messages<DrmVmEntry>(buffer.mappings.size());
        for (std::size_t vm = 0; vm < buffer.mappings.size(); ++vm) {
            entry.vm_entries[vm]->addr = buffer.mappings[vm].address;
            entry.vm_entries[vm]->size = buffer.mappings[vm].size;
            entry.vm_entries[vm]->offset = buffer.mappings[vm].offset;
            entry.vm_entries[vm]->flags = buffer.mappings[vm].flags;
        }
    }
    fillClient(node.client, image, arena);
    writeImage(context_.images, renderImageName(node.id), image.base);
}

}  // namespace criu::amdgpu
