// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/content_store.hpp"

#include <sys/uio.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/device/content.hpp"
#include "criu/memory/pages/page_sink.hpp"

namespace criu::device {

void FileContents::write(std::uint64_t position, std::span<const std::byte> bytes) {
    writeAt(file_.get(), bytes, start_ + position);
}

void FileContents::read(std::uint64_t position, std::span<std::byte> into) const {
    readAt(file_.get(), into, start_ + position);
}

void FileContents::finish(std::string_view name) {
    closeWritten(std::move(file_), name);
}

SavedPages::SavedPages(memory::PageSinks& pages, std::uint32_t object, std::uint64_t size)
    : sink_(pages.open(memory::MemoryObject::device(object), size)) {
    const memory::PageRun all{0, size, PageFlags::Present};
    (void)sink_->add({&all, 1});
    sink_->share();
}

SavedPages::~SavedPages() = default;

void SavedPages::write(std::uint64_t position, std::span<const std::byte> bytes) {
    if (position % kImagePageSize != 0 || bytes.size() % kImagePageSize != 0)
        fail("{} bytes of device memory for {:#x} aren't whole pages", bytes.size(), position);
    while (!bytes.empty()) {
        const std::uint64_t room = memory::kContentBlock - position % memory::kContentBlock;
        const auto block = bytes.first(std::min<std::uint64_t>(bytes.size(), room));
        const kernel::RemoteRange range{position, block.size()};
        (void)sink_->write({position, {&range, 1}, block});
        position += block.size();
        bytes = bytes.subspan(block.size());
    }
}

void SavedPages::read(std::uint64_t position, std::span<std::byte>) const {
    fail("device memory at {:#x} is being saved", position);
}

bool SavedPages::isOrdered() const noexcept {
    return sink_->isOrdered();
}

void SavedPages::abandon() noexcept {
    sink_->abandon();
}

void SavedPages::finish() {
    sink_->finish();
}

LoadedPages::LoadedPages(const memory::PageSource& source, bool frees) : source_(source), frees_(frees) {
    for (const auto& layer : source.layers())
        contents_.push_back(frees ? layer->openToFree() : layer->open());
}

LoadedPages::~LoadedPages() = default;

void LoadedPages::write(std::uint64_t position, std::span<const std::byte>) {
    fail("device memory at {:#x} is being loaded", position);
}

void LoadedPages::read(std::uint64_t position, std::span<std::byte> into) const {
    source_.forEach(position, position + into.size(), [&](const memory::PageJob& job) {
        if (!job.present())
            fail("the images don't have the content at {:#x}", job.address);
        iovec target{into.data() + (job.address - position), job.bytes};
        const memory::PageContent& content = *contents_.at(job.layer);
        content.read(job.position, {&target, 1});
        if (frees_)
            content.free(job.position, job.bytes);
    });
}

ContentStore& LoadedStores::at(const ContentPlace& place, std::uint64_t size) {
    if (!place.file.empty()) {
        auto& file = files_[place.file];
        if (!file)
            file = driver_.openContent(images_, place.file, place.position + size);
        return *file;
    }
    const auto source = sources_.find(place.object);
    if (source == sources_.end())
        fail("the images have no content of number {}", place.object);
    auto& pages = pages_[place.object];
    if (!pages)
        pages = std::make_unique<LoadedPages>(source->second, frees_);
    return *pages;
}

void LoadedStores::close() noexcept {
    files_.clear();
    pages_.clear();
}

}  // namespace criu::device
