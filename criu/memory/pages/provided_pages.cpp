// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/provided_pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/memory/pages/read_targets.hpp"

namespace criu::memory {
namespace {

using kernel::FdStore;

/// Consecutive content of a provided file.
struct Extent {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    FdStore::Id id;
    std::uint64_t offset = 0;    ///< offset in the file
    std::uint64_t position = 0;  ///< position in the content of the layer
};

/// Content of all provided files of a process. Has one file open at a time, because a process may have more provided
/// mappings than it may have open files.
class ProvidedContent final : public PageContent {
public:
    ProvidedContent(const std::vector<Extent>& extents, const FdStore& store) : extents_(extents), store_(store) {}

    void read(std::uint64_t position, std::span<iovec> targets) const override {
        while (!targets.empty()) {
            const Extent& extent = at(position);
            const ErrorContext context([this, position] { return where(position); });
            const std::uint64_t within = position - extent.position;
            std::vector<iovec> part = takeFront(targets, std::min(sizeOf(targets), extent.bytes - within));
            position += sizeOf(part);
            readFrom(fileOf(extent.id)->get(), extent.offset + within, part);
        }
    }

    [[nodiscard]] std::string where(std::uint64_t position) const override {
        const Extent& extent = at(position);
        return fmt::format("the provider's memory of {:#x}", extent.address + (position - extent.position));
    }

private:
    [[nodiscard]] const Extent& at(std::uint64_t position) const {
        const auto next =
            std::upper_bound(extents_.begin(), extents_.end(), position,
                             [](std::uint64_t value, const Extent& extent) { return value < extent.position; });
        return *std::prev(next);
    }

    [[nodiscard]] std::shared_ptr<const UniqueFd> fileOf(FdStore::Id id) const {
        const std::lock_guard lock(mutex_);
        if (!file_ || id_ != id) {
            file_ = std::make_shared<const UniqueFd>(store_.get(id));
            id_ = id;
        }
        return file_;
    }

    const std::vector<Extent>& extents_;
    const FdStore& store_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const UniqueFd> file_;
    mutable FdStore::Id id_;
};

/// Youngest layer of a source with provided files. Pages outside of provided mappings are in the next layer.
class ProvidedLayer final : public PageLayer {
public:
    ProvidedLayer(std::vector<PagemapRange> ranges, std::vector<Extent> extents, const FdStore& store)
        : ranges_(std::move(ranges)), extents_(std::move(extents)), store_(store) {}

    [[nodiscard]] std::span<const PagemapRange> ranges() const override { return ranges_; }
    [[nodiscard]] std::unique_ptr<PageContent> open() const override {
        return std::make_unique<ProvidedContent>(extents_, store_);
    }
    [[nodiscard]] std::string name() const override { return "the memory of the provider"; }

private:
    const std::vector<PagemapRange> ranges_;
    const std::vector<Extent> extents_;
    const FdStore& store_;
};

/// Layer of another source, which it owns together with other layers.
class LayerOfImages final : public PageLayer {
public:
    LayerOfImages(std::shared_ptr<const PageSource> source, std::size_t number)
        : source_(std::move(source)), layer_(*source_->layers()[number]) {}

    [[nodiscard]] std::span<const PagemapRange> ranges() const override { return layer_.ranges(); }
    [[nodiscard]] std::unique_ptr<PageContent> open() const override { return layer_.open(); }
    [[nodiscard]] std::string name() const override { return layer_.name(); }
    [[nodiscard]] bool compares() const noexcept override { return layer_.compares(); }
    [[nodiscard]] std::unique_ptr<PageContent> openToFree() const override { return layer_.openToFree(); }

private:
    const std::shared_ptr<const PageSource> source_;
    const PageLayer& layer_;
};

/// Returns the offset of the next data or hole (SEEK_DATA, SEEK_HOLE) as lseek(2) does, but at most `size`.
std::uint64_t seek(const UniqueFd& file, std::uint64_t from, int whence, std::uint64_t size) {
    const off_t found = ::lseek(file.get(), static_cast<off_t>(from), whence);
    if (found < 0 && errno != ENXIO)
        failErrno("look for holes in the provider's file");
    return found < 0 ? size : std::min(static_cast<std::uint64_t>(found), size);
}

/// Adds the parts of a file that aren't holes, in whole pages.
void addExtents(const ProvidedFile& provided, const FdStore& store, std::vector<Extent>& extents) {
    const UniqueFd file = store.get(provided.id);
    const std::uint64_t size = provided.mapping.size();
    for (std::uint64_t offset = 0; offset < size;) {
        const std::uint64_t data = seek(file, offset, SEEK_DATA, size) / kImagePageSize * kImagePageSize;
        if (data >= size)
            break;
        const std::uint64_t hole = seek(file, std::max(data, offset), SEEK_HOLE, size);
        const std::uint64_t end = (hole + kImagePageSize - 1) / kImagePageSize * kImagePageSize;
        const std::uint64_t start = std::max(data, offset);
        extents.push_back({provided.mapping.start + start, end - start, provided.id, start, 0});
        offset = end;
    }
}

/// Adds the parts of a range of the images that are outside of provided mappings.
void addOfImages(const PagemapRange& range, const std::vector<ProvidedFile>& files, std::vector<PagemapRange>& ranges) {
    const bool hasContent = has(range.flags, PageFlags::Present) || has(range.flags, PageFlags::Parent);
    const auto add = [&](std::uint64_t start, std::uint64_t end) {
        if (start < end)
            ranges.push_back({start, (end - start) / kImagePageSize, hasContent ? PageFlags::Parent : range.flags, 0});
    };
    std::uint64_t done = range.vaddr;
    auto file = std::upper_bound(files.begin(), files.end(), done,
                                 [](std::uint64_t at, const ProvidedFile& each) { return at < each.mapping.end; });
    for (; file != files.end() && file->mapping.start < range.end(); ++file) {
        add(done, std::max(done, file->mapping.start));
        done = file->mapping.end;
    }
    add(done, range.end());
}

}  // namespace

std::unique_ptr<const PageSource> withProvided(std::unique_ptr<const PageSource> images,
                                               const std::vector<ProvidedFile>& files, const FdStore& store) {
    std::vector<Extent> extents;
    for (const ProvidedFile& file : files)
        addExtents(file, store, extents);
    std::vector<PagemapRange> ranges;
    std::uint64_t position = 0;
    for (Extent& extent : extents) {
        extent.position = std::exchange(position, position + extent.bytes);
        ranges.push_back({extent.address, extent.bytes / kImagePageSize, PageFlags::Present, extent.position});
    }
    const std::shared_ptr<const PageSource> below = std::move(images);
    for (const PagemapRange& range : below->layers().front()->ranges())
        addOfImages(range, files, ranges);
    std::sort(ranges.begin(), ranges.end(),
              [](const PagemapRange& one, const PagemapRange& other) { return one.vaddr < other.vaddr; });
    std::vector<std::unique_ptr<const PageLayer>> layers;
    layers.push_back(std::make_unique<ProvidedLayer>(std::move(ranges), std::move(extents), store));
    for (std::size_t number = 0; number < below->layers().size(); ++number)
        layers.push_back(std::make_unique<LayerOfImages>(below, number));
    return std::make_unique<const PageSource>(std::move(layers));
}

}  // namespace criu::memory
