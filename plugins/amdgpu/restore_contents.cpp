// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/restore_contents.hpp"

#include <chrono>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/device/content_mover.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/options.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {
namespace {

/// Returns the memory object with the contents of a process' buffers on a GPU; 0 if the contents are in a file.
std::uint32_t objectOf(const CriuKfd& image, GpuId user) {
    for (const KfdDeviceEntry* const device : list(image.device_entries, image.n_device_entries))
        if (device->gpu_id == user)
            return device->has_content_object != 0 ? device->content_object : 0;
    return 0;
}

}  // namespace

RestoreContents::RestoreContents(Kernel& kernel, const device::Context& context,
                                 std::function<std::uint64_t()> bufferLimit)
    : context_(context), bufferLimit_(std::move(bufferLimit)), driver_(kernel) {}

device::ContentPlace RestoreContents::placeOf(FileId id, const CriuKfd& image, const KfdBoEntry& buffer,
                                              std::uint64_t filePosition) {
    if (const std::uint32_t object = objectOf(image, buffer.gpu_id); object != 0)
        return {{}, object, buffer.content_position};
    return {pagesImageName(id, buffer.gpu_id), 0, filePosition};
}

device::ContentPlace RestoreContents::placeOf(FileId id, const CriuRenderNode& image, std::size_t index) {
    if (image.has_content_object != 0)
        return {{}, image.content_object, image.bo_entries[index]->content_position};
    return {renderPagesImageName(id, image.drm_render_minor, index), 0, 0};
}

void RestoreContents::prepare(const RestoreImages& images) {
    const auto open = [&](std::uint32_t object) {
        if (object != 0 && !sources_.contains(object))
            sources_.emplace(object, context_.sources->openRequired(memory::MemoryObject::device(object)));
    };
    const auto count = [&](const device::ContentPlace& place, std::uint64_t size) {
        require(place, size);
        bytes_ += size;
    };
    for (const auto& [id, image] : images.kfds) {
        const ErrorContext context([&, &id = id] { return kfdImageName(id); });
        for (const KfdBoEntry* const buffer : list(image->bo_entries, image->n_bo_entries)) {
            if (!hasContent(*buffer) || buffer->imported != 0)
                continue;
            open(objectOf(*image, buffer->gpu_id));
            count(placeOf(id, *image, *buffer, 0), buffer->size);
        }
    }
    for (const auto& [id, image] : images.nodes) {
        const ErrorContext context([&, &id = id] { return renderImageName(id); });
        for (std::size_t at = 0; at < image->n_bo_entries; ++at) {
            if (isImported(*image->bo_entries[at]) || image->bo_entries[at]->has_user_address != 0)
                continue;
            open(image->has_content_object != 0 ? image->content_object : 0);
            count(placeOf(id, *image, at), image->bo_entries[at]->size);
        }
    }
}

/// Throws Error if the images lack the pages of a place. Ignores places in files, because LoadedStores checks files.
void RestoreContents::require(const device::ContentPlace& place, std::uint64_t size) const {
    if (!place.file.empty())
        return;
    const std::uint64_t end = place.position + size;
    if (end < place.position)
        fail("the content of a buffer is said to be at {:#x}, of {} bytes", place.position, size);
    std::uint64_t missing = end;
    sources_.at(place.object).forEach(place.position, end, [&](const memory::PageJob& job) {
        if (!job.present() && missing == end)
            missing = job.address;
    });
    if (missing != end)
        fail("the content of a buffer, at {:#x} of {}, isn't in the images", missing,
             context_.sources->describe(memory::MemoryObject::device(place.object)));
}

device::LoadedStores RestoreContents::makeStores() {
    return {driver_, context_.images, sources_, context_.options.autoDedup};
}

void RestoreContents::share(kernel::FdStore& store) {
    if (valueOf(Option::Parallel, context_.options) == 0)
        return;
    stores_.emplace(driver_, context_.images, sources_, context_.options.autoDedup);
    channel_.emplace(driver_, *stores_, bufferLimit_(), context_.stop, context_.watch, store);
}

void RestoreContents::startWork() {
    if (context_.watch.expected)
        context_.watch.expected(bytes_);
    if (channel_)
        channel_->start();
}

void RestoreContents::endWork() noexcept {
    channel_.reset();
    stores_.reset();
}

void RestoreContents::load(std::vector<device::ContentRequest>& requests) {
    if (channel_) {
        for (const device::ContentRequest& request : requests)
            channel_->send(request);
        requests.clear();
        return;
    }
    if (requests.empty())
        return;
    device::LoadedStores stores = makeStores();
    device::ContentMover mover(driver_, device::Direction::Load, bufferLimit_(), nullptr, context_.watch);
    for (device::ContentRequest& request : requests) {
        device::ContentStore& store = stores.at(request.place, request.size);
        mover.add(request.device, {std::move(request.buffer), request.size, &store, request.place.position});
    }
    mover.finish();
    mover.report(context_.log);
}

void RestoreContents::load(const MappedContent& into, const device::ContentPlace& place) {
    device::LoadedStores stores = makeStores();
    const auto began = std::chrono::steady_clock::now();
    loadMapped(driver_.kernel(), into, stores.at(place, into.size), place.position, [] {});
    if (context_.watch.piece)
        context_.watch.piece(began, into.size);
}

void RestoreContents::finish() {
    if (channel_ && channel_->finish())
        channel_->report(context_.log);
}

}  // namespace criu::amdgpu
