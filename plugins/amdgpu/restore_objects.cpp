// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/restore_objects.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"
#include "plugins/amdgpu/image_file.hpp"

namespace criu::amdgpu {
namespace {

/// First number that numberObjects() gives to a buffer. Dumps assign only smaller numbers.
constexpr std::uint32_t kFirstOwnNumber = 1U << 31;

}  // namespace

bool hasContent(const KfdBoEntry& buffer) noexcept {
    return (buffer.alloc_flags & (uapi::kKfdVram | uapi::kKfdGtt)) != 0;
}

bool isImported(const DrmBoEntry& buffer) noexcept {
    return buffer.is_import != 0;
}

/// Images of CRIU 4.2 contain only handles. Each file has a separate table of handles, which count from 1, so buffers
/// of two files may have the same handle. So criu treats a buffer as the owner of an import only if handle and size are
/// equal. An import without owner becomes a separate buffer.
void numberObjects(RestoreImages& images, Log& log) {
    struct Owner {
        std::uint32_t handle = 0;
        std::uint64_t size = 0;
        std::uint32_t object = 0;
    };
    std::vector<Owner> owners;
    std::uint32_t next = kFirstOwnNumber;
    const auto own = [&](auto& buffer, bool hasHandle) {
        buffer.has_object = 1;
        buffer.object = next++;
        if (hasHandle)  // an import refers to its owner by handle
            owners.push_back({buffer.handle, buffer.size, buffer.object});
    };
    for (auto& [id, image] : images.kfds)
        for (KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (buffer->has_object == 0)
                own(*buffer, buffer->has_handle != 0);
    for (const bool imports : {false, true})
        for (auto& [id, image] : images.nodes)
            for (DrmBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries)) {
                if (buffer->has_object != 0 || isImported(*buffer) != imports)
                    continue;
                const auto owner = std::find_if(owners.begin(), owners.end(), [&](const Owner& candidate) {
                    return candidate.handle == buffer->handle && candidate.size == buffer->size;
                });
                buffer->is_import = imports && owner != owners.end() ? 1 : 0;
                if (buffer->is_import == 0) {
                    own(*buffer, true);
                    continue;
                }
                log.warn(
                    "amdgpu: {}: buffer {} is taken for an import of another one of {} bytes, as images of "
                    "CRIU 4.2 don't tell for sure",
                    renderImageName(id), buffer->handle, buffer->size);
                buffer->has_object = 1;
                buffer->object = owner->object;
            }
    for (auto& [id, image] : images.dmabufs) {
        if (image->has_object != 0)
            continue;
        const auto owner = std::find_if(owners.begin(), owners.end(), [&, &image = image](const Owner& candidate) {
            return candidate.handle == image->gem_handle;
        });
        if (owner == owners.end())
            fail("{} refers to GPU buffer {}, which no image has", dmabufImageName(id), image->gem_handle);
        // For each DMA-BUF, CRIU 4.2 searches the dumped files from the last to the first, and uses any buffer with
        // this handle.
        if (images.nodes.size() > 1)
            log.warn(
                "amdgpu: {}: DMA-BUF {} is taken for one of the buffer with that number, as images of CRIU 4.2 of "
                "several render nodes don't tell for sure",
                dmabufImageName(id), image->gem_handle);
        image->has_object = 1;
        image->object = owner->object;
    }
}

std::set<std::uint64_t> importedObjects(const RestoreImages& images) {
    std::set<std::uint64_t> owned;
    std::set<std::uint64_t> wanted;
    for (const auto& [id, image] : images.kfds)
        for (const KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (buffer->imported == 0 && !owned.insert(buffer->object).second && buffer->object != 0)
                fail("{}: buffer {} is in another process, too: the driver would make two of it", kfdImageName(id),
                     buffer->object);
    for (const auto& [id, image] : images.nodes)
        for (const DrmBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (!isImported(*buffer))
                owned.insert(buffer->object);
    const auto want = [&](std::uint64_t object, const std::string& who) {
        if (!owned.contains(object))
            fail("{} refers to GPU buffer {}, which no image has", who, object);
        wanted.insert(object);
    };
    for (const auto& [id, image] : images.kfds)
        for (const KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (buffer->imported != 0)
                want(buffer->object, kfdImageName(id));
    for (const auto& [id, image] : images.nodes)
        for (const DrmBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries))
            if (isImported(*buffer))
                want(buffer->object, renderImageName(id));
    for (const auto& [id, image] : images.dmabufs)
        want(image->object, dmabufImageName(id));
    return wanted;
}

}  // namespace criu::amdgpu
