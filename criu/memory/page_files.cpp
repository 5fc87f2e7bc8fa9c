// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/page_files.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/page_file_sinks.hpp"
#include "criu/memory/pages_writer.hpp"

namespace criu::memory {
namespace {

ImageKind pagemapOf(const MemoryObject& object) noexcept {
    return object.kind == MemoryObject::Kind::Process ? ImageKind::Pagemap : ImageKind::ShmemPagemap;
}

/// A pagemap and a pages file.
class FileSink final : public PageSink {
public:
    FileSink(const ImageDir& images, const MemoryObject& object, std::uint32_t number)
        : pagemap_(images.create(pagemapOf(object), object.id), number),
          pages_(images.createRaw(ImageKind::Pages, number)),
          writer_(pages_.get()) {}

    void share() override { writer_.share(); }

    std::uint64_t write(const PageBlock& block) override { return writer_.write(block.position, block.bytes); }

    void finish() override { pagemap_.finish(); }

private:
    void append(std::span<const PageRun> runs, std::uint64_t contentSize) override {
        for (const PageRun& run : runs)
            pagemap_.add(run.address, run.bytes / kImagePageSize, run.flags);
        // Pages of zeroes at the end are a hole, too; and stores through a mapping need the file to be there.
        sys(::ftruncate(pages_.get(), static_cast<off_t>(contentSize)), "size the pages file to {} bytes", contentSize);
    }

    PagemapWriter pagemap_;
    UniqueFd pages_;
    PagesWriter writer_;
};

class FileContent final : public PageContent {
public:
    explicit FileContent(UniqueFd pages) noexcept : pages_(std::move(pages)) {}

    void read(std::uint64_t position, std::span<iovec> targets) const override {
        while (!targets.empty()) {
            const auto count = static_cast<int>(std::min<std::size_t>(targets.size(), IOV_MAX));
            ssize_t got = ::preadv(pages_.get(), targets.data(), count, static_cast<off_t>(position));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                failErrno("read memory content at {:#x} of the pages file", position);
            if (got == 0)
                fail("the pages file ends at {:#x}, within the memory's content", position);
            position += static_cast<std::uint64_t>(got);
            while (got > 0) {
                iovec& target = targets.front();
                const std::size_t part = std::min(static_cast<std::size_t>(got), target.iov_len);
                target.iov_base = static_cast<char*>(target.iov_base) + part;
                target.iov_len -= part;
                got -= static_cast<ssize_t>(part);
                if (target.iov_len == 0)
                    targets = targets.subspan(1);
            }
        }
    }

private:
    UniqueFd pages_;
};

class FileLayer final : public PageLayer {
public:
    FileLayer(const ImageDir& images, Pagemap pagemap) : images_(images), pagemap_(std::move(pagemap)) {}

    [[nodiscard]] std::span<const PagemapRange> ranges() const override { return pagemap_.ranges(); }

    [[nodiscard]] std::unique_ptr<PageContent> open() const override {
        auto pages = pagemap_.openPages(images_, O_RDONLY | O_CLOEXEC);
        return std::make_unique<FileContent>(pages ? std::move(*pages) : UniqueFd());
    }

private:
    const ImageDir& images_;
    Pagemap pagemap_;
};

bool needsParent(std::span<const PagemapRange> ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [](const PagemapRange& range) { return has(range.flags, PageFlags::Parent); });
}

}  // namespace

std::unique_ptr<PageSink> FilePageSinks::open(const MemoryObject& object) {
    return std::make_unique<FileSink>(images_, object, next_.fetch_add(1, std::memory_order_relaxed));
}

std::optional<PageSource> FilePageSources::open(const MemoryObject& object) const {
    std::vector<std::unique_ptr<const PageLayer>> layers;
    for (const ImageDir* dir = &images_; dir != nullptr; dir = dir->parent()) {
        auto pagemap = Pagemap::load(*dir, pagemapOf(object), object.id);
        if (!pagemap)
            break;
        layers.push_back(std::make_unique<FileLayer>(*dir, std::move(*pagemap)));
        if (!needsParent(layers.back()->ranges()))
            break;
    }
    if (layers.empty())
        return std::nullopt;
    return inContext([&] { return imageName(pagemapOf(object), object.id); },
                     [&] { return PageSource(std::move(layers)); });
}

std::string FilePageSources::describe(const MemoryObject& object) const {
    return fmt::format("{} ({})", PageSources::describe(object), imageName(pagemapOf(object), object.id));
}

}  // namespace criu::memory
