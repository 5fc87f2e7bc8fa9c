// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/contents.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/mapping.hpp"
#include "criu/device/content_mover.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/read_watch.hpp"

namespace criu::cuda {
namespace {

/// Maximum bytes of pinned memory for copies of one GPU; each thread uses two parts of it. In measurements on PCIe,
/// more memory didn't make copies faster.
constexpr std::uint64_t kBufferLimit = std::uint64_t{128} << 20;

/// Store that keeps contents in criu's memory.
class ProcessMemoryContents final : public device::ContentStore {
public:
    explicit ProcessMemoryContents(std::uint64_t bytes) : memory_(Mapping::anonymous(bytes)) {}
    void write(std::uint64_t position, std::span<const std::byte> bytes) override {
        std::memcpy(memory_.bytes().subspan(position, bytes.size()).data(), bytes.data(), bytes.size());
    }
    void read(std::uint64_t position, std::span<std::byte> into) const override {
        std::memcpy(into.data(), memory_.bytes().subspan(position, into.size()).data(), into.size());
    }

private:
    Mapping memory_;
};

/// Store that reads and writes contents in pages of the images.
class SourceContents final : public device::ContentStore {
public:
    SourceContents(memory::PageSource source, std::uint64_t bytes) : source_(std::move(source)) {
        source_.forEach(0, bytes, [](const memory::PageJob& job) {
            if (!job.present())
                fail("the images lack contents at {:#x}", job.address);
        });
        pages_.emplace(source_, false);
    }
    void write(std::uint64_t position, std::span<const std::byte> bytes) override { pages_->write(position, bytes); }
    void read(std::uint64_t position, std::span<std::byte> into) const override { pages_->read(position, into); }

private:
    memory::PageSource source_;
    std::optional<device::LoadedPages> pages_;
};

/// Returns the GPU that gets the contents of `gpu`.
Uuid targetOf(const Uuid& gpu, std::span<const GpuPair> pairs) {
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const GpuPair& each) { return each.from == gpu; });
    return pair == pairs.end() ? gpu : pair->to;
}

}  // namespace

void ContentStorage::expect(const StorageOperation& operation) const {
    for (const StoredRange& range : operation.ranges()) {
        if (bytes_ != nullptr)
            *bytes_ += range.bytes;
        if (watch_.expected)
            watch_.expected(range.bytes);
    }
}

void ContentStorage::move(const StorageOperation& operation, device::Direction direction,
                          std::span<const std::shared_ptr<device::ContentStore>> stores, StopRequest* stop) const {
    RangeContents driver(storage_, operation.ranges());
    device::ContentMover mover(driver, direction, kBufferLimit, stop, watch_);
    for (std::uint32_t i = 0; i < stores.size(); ++i)
        mover.add(i, {{}, operation.ranges()[i].bytes, stores[i].get(), 0});
    mover.finish();
}

void ContentStorage::savePages(const StorageOperation& operation, std::vector<StoredContent>& contents,
                               memory::PageSinks& sinks, std::atomic<std::uint32_t>& next) const {
    std::vector<std::shared_ptr<device::ContentStore>> stores;
    std::vector<std::shared_ptr<device::SavedPages>> pages;
    for (const StoredRange& range : operation.ranges()) {
        const std::uint32_t object = next++;
        contents.push_back({range.gpu, range.bytes, object, nullptr});
        stores.push_back(pages.emplace_back(std::make_shared<device::SavedPages>(sinks, object, range.bytes)));
    }
    move(operation, device::Direction::Save, stores, nullptr);
    for (const auto& each : pages)
        each->finish();
}

std::vector<StoredContent> ContentStorage::save(pid_t pid, memory::PageSinks& sinks, std::atomic<std::uint32_t>& next,
                                                std::exception_ptr& failure) const {
    StorageOperation operation(storage_, pid, device::Direction::Save, {});
    expect(operation);
    std::vector<StoredContent> contents;
    try {
        savePages(operation, contents, sinks, next);
    } catch (...) {
        failure = std::current_exception();
        contents.clear();
        std::vector<std::shared_ptr<device::ContentStore>> stores;
        for (const StoredRange& range : operation.ranges())
            contents.push_back(
                {range.gpu, range.bytes, 0, stores.emplace_back(std::make_shared<ProcessMemoryContents>(range.bytes))});
        move(operation, device::Direction::Save, stores, nullptr);
    }
    operation.complete();
    return contents;
}

void ContentStorage::load(pid_t pid, std::span<const StoredContent> contents, std::span<const GpuPair> pairs,
                          const memory::PageSources& sources, StopRequest* stop) const {
    // Opens the stores of all contents before the driver begins, so that missing images are an early error.
    std::vector<std::shared_ptr<device::ContentStore>> found;
    for (const StoredContent& each : contents)
        found.push_back(each.here ? each.here
                                  : std::make_shared<SourceContents>(
                                        sources.openRequired(memory::MemoryObject::device(each.object)), each.bytes));
    StorageOperation operation(storage_, pid, device::Direction::Load, pairs);
    expect(operation);
    std::vector<std::shared_ptr<device::ContentStore>> stores;
    for (const StoredRange& range : operation.ranges()) {
        const auto content = std::find_if(contents.begin(), contents.end(), [&](const StoredContent& each) {
            return targetOf(each.gpu, pairs) == range.gpu && each.bytes == range.bytes;
        });
        if (content == contents.end())
            fail("the images have no {} bytes for {}", range.bytes, formatUuid(range.gpu));
        stores.push_back(found[static_cast<std::size_t>(content - contents.begin())]);
    }
    move(operation, device::Direction::Load, stores, stop);
    operation.complete();
}

}  // namespace criu::cuda
