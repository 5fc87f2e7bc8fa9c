// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_files.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/written_sums.hpp"
#include "criu/memory/pages/checked_pages.hpp"
#include "criu/memory/pages/compressed_pages.hpp"
#include "criu/memory/pages/page_dedup.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/pages_store.hpp"
#include "criu/memory/pages/read_targets.hpp"

namespace criu::memory {
namespace {

/// Bytes of a stripe. One thread writes a stripe in one call.
constexpr std::uint64_t kStripe = kContentBlock;

/// Sink that writes a pagemap and its pages files, uncompressed.
class FileSink final : public PageSink {
public:
    FileSink(const ImageDir& images, const MemoryObject& object, PageStripes stripes)
        : pagemap_(images.create(pagemapOf(object), object.id), stripes, 0, images.sums() != nullptr),
          stripes_(std::move(stripes)) {
        if (images.sums() != nullptr)
            sums_.emplace(images.sums()->checksum());
        for (const std::uint32_t number : stripes_.files)
            files_.push_back(createPagesStore(images, number));
    }

    void share() override {
        for (const auto& file : files_)
            file->share();
    }

    std::uint64_t write(const PageBlock& block) override {
        if (sums_)
            sums_->add(block);
        std::uint64_t holes = 0;
        std::uint64_t position = block.position;
        for (std::span<const std::byte> rest = block.bytes; !rest.empty();) {
            const PageStripes::Place place = stripes_.place(position);
            const std::size_t part = std::min<std::uint64_t>(rest.size(), place.together);
            holes += files_[place.file]->write(place.offset, rest.first(part));
            rest = rest.subspan(part);
            position += part;
        }
        return holes;
    }

    void finish() override {
        for (const auto& file : files_)
            file->finish();
        if (sums_)
            addSummed();
        pagemap_.finish();
    }

    void abandon() noexcept override {
        for (const auto& file : files_)
            file->abandon();
    }

private:
    void append(std::span<const PageRun> runs, std::uint64_t contentSize) override {
        if (sums_)
            runs_.insert(runs_.end(), runs.begin(), runs.end());
        else
            for (const PageRun& run : runs)
                pagemap_.add(run.address, run.bytes / kImagePageSize, run.flags);
        // Sets the file sizes for all runs until now: writes through a mapping need the size, and zero pages at the end
        // of a file become a hole.
        for (std::size_t index = 0; index < files_.size(); ++index)
            files_[index]->resize(stripes_.sizeOf(index, contentSize));
    }

    /// Adds the pagemap entries. Call it when all content is complete, because an entry contains the checksums of its
    /// pages.
    void addSummed() {
        const std::vector<std::uint32_t> sums = sums_->take(contentSize());
        std::span<const std::uint32_t> rest = sums;
        for (const PageRun& run : runs_) {
            const std::uint64_t pages = run.bytes / kImagePageSize;
            const std::uint64_t here = has(run.flags, PageFlags::Present) ? pages : 0;
            pagemap_.add(run.address, pages, run.flags, rest.first(here));
            rest = rest.subspan(here);
        }
    }

    PagemapWriter pagemap_;
    PageStripes stripes_;
    std::vector<std::unique_ptr<PagesStore>> files_;
    std::optional<PageSums> sums_;  ///< unset if no checksums are computed
    std::vector<PageRun> runs_;     ///< all added runs; empty if no checksums are computed
};

class FileContent final : public PageContent {
public:
    FileContent(const ImageDir& images, const Pagemap& pagemap, int access)
        : directory_(images.name()),
          stripes_(pagemap.stripes()),
          files_(pagemap.openPages(images, access | O_CLOEXEC)),
          direct_(images.directIo()) {}

    void read(std::uint64_t position, std::span<iovec> targets) const override {
        if (!targets.empty() && files_.empty())
            fail("there is no pages file");
        while (!targets.empty()) {
            const PageStripes::Place place = stripes_.place(position);
            const ErrorContext context([&] { return nameOf(place); });
            if (files_.size() == 1)
                return readFrom(files_.front().get(), position, targets);
            std::vector<iovec> part = takeFront(targets, place.together);
            position += sizeOf(part);
            readFrom(files_[place.file].get(), place.offset, part);
        }
    }

    /// Maps the pages files at the first call. Returns false, for example, for a FUSE file system that can't map files.
    /// Also with --image-io-mode direct, because a mapping would fill the page cache.
    [[nodiscard]] bool makeViews() override {
        if (!viewed_)
            viewed_ = !direct_ && !files_.empty() && mapFiles();
        return *viewed_;
    }

    void forEachView(std::uint64_t position, std::uint64_t bytes,
                     const std::function<void(View)>& visit) const override {
        while (bytes != 0) {
            const PageStripes::Place place = stripes_.place(position);
            const std::uint64_t part = files_.size() == 1 ? bytes : std::min(bytes, place.together);
            const ErrorContext context([&] { return nameOf(place); });
            const std::span<std::byte> file = mapped_[place.file].bytes();
            if (place.offset > file.size() || file.size() - place.offset < part)
                fail("it ends at {:#x}", file.size());
            const std::span<std::byte> view = file.subspan(place.offset, part);
            load(files_[place.file].get(), place.offset, view);
            visit(view);
            // Ignores errors: the kernel only keeps the pages in the page table until the file is unmapped.
            (void)::madvise(view.data(), view.size(), MADV_DONTNEED);
            position += part;
            bytes -= part;
        }
    }

    void free(std::uint64_t position, std::uint64_t bytes) const override {
        while (bytes != 0) {
            const PageStripes::Place place = stripes_.place(position);
            const std::uint64_t part = std::min(bytes, place.together);
            const ErrorContext context([&] { return nameOf(place); });
            punchHole(files_.at(place.file).get(), place.offset, part);
            position += part;
            bytes -= part;
        }
    }

    [[nodiscard]] std::string where(std::uint64_t position) const override {
        const PageStripes::Place place = stripes_.place(position);
        return fmt::format("{} at offset {:#x}", nameOf(place), place.offset);
    }

private:
    [[nodiscard]] std::string nameOf(const PageStripes::Place& place) const {
        return fmt::format("{}/{}", directory_, imageName(ImageKind::Pages, stripes_.files[place.file]));
    }

    /// Maps the pages files. Returns false if the kernel refuses; reads then report the error, if there is one.
    bool mapFiles() {
        try {
            for (const UniqueFd& file : files_) {
                struct stat status {};
                sys(::fstat(file.get(), &status), "look at a pages file");
                mapped_.push_back(Mapping::ofFile(file.get(), static_cast<std::size_t>(status.st_size)));
            }
        } catch (const Error&) {
            return false;
        }
        return true;
    }

    /// Loads a part of a file into the page table of this process, because page faults take more time. Ignores errors:
    /// a tmpfs has nothing to read ahead, and the later use of the memory reports errors of a disk.
    static void load(int file, std::uint64_t offset, std::span<std::byte> view) noexcept {
        (void)::posix_fadvise(file, static_cast<off_t>(offset), static_cast<off_t>(view.size()), POSIX_FADV_WILLNEED);
        (void)::madvise(view.data(), view.size(), MADV_POPULATE_READ);
    }

    const std::string directory_;
    const PageStripes stripes_;
    const std::vector<UniqueFd> files_;
    const bool direct_;
    std::optional<bool> viewed_;   ///< result of makeViews(); unset before its first call
    std::vector<Mapping> mapped_;  ///< whole pages files, for views
};

class FileLayer final : public PageLayer {
public:
    FileLayer(const ImageDir& images, std::string name, Pagemap pagemap, bool compares)
        : images_(images), name_(std::move(name)), pagemap_(std::move(pagemap)), codec_(codecOf(pagemap_)) {
        if (compares && !pagemap_.checksums().empty())
            checksum_ = std::make_shared<const Checksum>();
    }

    [[nodiscard]] std::span<const PagemapRange> ranges() const override { return pagemap_.ranges(); }

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] bool compares() const noexcept override { return checksum_ != nullptr; }
    [[nodiscard]] std::unique_ptr<PageContent> open() const override { return openFor(O_RDONLY); }
    [[nodiscard]] std::unique_ptr<PageContent> openToFree() const override { return openFor(O_RDWR); }

private:
    [[nodiscard]] std::unique_ptr<PageContent> openFor(int access) const {
        std::unique_ptr<PageContent> content;
        if (codec_)
            content = openCompressed(images_, pagemap_, codec_);
        else
            content = std::make_unique<FileContent>(images_, pagemap_, access);
        if (checksum_)
            content = checkedContent(std::move(content), pagemap_.checksums(), checksum_);
        return content;
    }

    const ImageDir& images_;
    const std::string name_;
    Pagemap pagemap_;
    /// Codec of the content; null if the content is uncompressed. The constructor loads the shared library, because a
    /// restored process may have another root directory, where the library's file doesn't exist.
    std::shared_ptr<const Codec> codec_;
    std::shared_ptr<const Checksum> checksum_;  ///< null if content isn't compared with checksums
};

bool needsParent(std::span<const PagemapRange> ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [](const PagemapRange& range) { return has(range.flags, PageFlags::Parent); });
}

/// Returns true if every restore reads some of the content. Lazy content doesn't count, because a restore with lazy
/// pages may leave it to the lazy-pages daemon.
bool needsContent(std::span<const PagemapRange> ranges) {
    return std::any_of(ranges.begin(), ranges.end(), [](const PagemapRange& range) {
        return has(range.flags, PageFlags::Present) && !has(range.flags, PageFlags::Lazy);
    });
}

}  // namespace

Striping Striping::usual() {
    constexpr unsigned kMost = 16;
    constexpr std::uint64_t kLeast = std::uint64_t{256} << 20;
    return {std::clamp(availableCores(), 1U, kMost), kLeast, true};
}

Striping Striping::asWished(unsigned files) {
    return {files, files * kStripe, true};
}

std::unique_ptr<PageSink> FilePageSinks::open(const MemoryObject& object, std::uint64_t expected) {
    PageStripes stripes;
    if (object.kind == MemoryObject::Kind::Files)
        files_ = true;
    if (object.kind == MemoryObject::Kind::Device)
        device_ = true;
    if (compression_.codec) {
        compressed_ = true;
        return makeCompressedSink(images_, object, next_.fetch_add(1, std::memory_order_relaxed), compression_);
    }
    const unsigned count = expected >= striping_.least ? std::max(striping_.files, 1U) : 1;
    const std::uint32_t first = next_.fetch_add(count, std::memory_order_relaxed);
    for (unsigned index = 0; index < count; ++index)
        stripes.files.push_back(first + index);
    if (count > 1) {
        stripes.piece = kStripe;
        striped_ = true;
    }
    return std::make_unique<FileSink>(images_, object, std::move(stripes));
}

std::vector<std::string> FilePageSinks::extensions() const {
    std::vector<std::string> names;
    if (striped_)
        names.emplace_back(kStripedPages);
    if (files_)
        names.emplace_back(kFilesPages);
    if (device_)
        names.emplace_back(kDevicePages);
    if (compressed_)
        names.emplace_back(kCompressedPages);
    return names;
}

void FilePageSinks::readParentAhead(const MemoryObject& object) {
    auto pages = parentOf(object);
    const std::scoped_lock lock(aheadLock_);
    ahead_.insert_or_assign(object, std::move(pages));
}

std::optional<ParentPages> FilePageSinks::parentOf(const MemoryObject& object) {
    const auto read = [&] {
        const std::scoped_lock lock(aheadLock_);
        return ahead_.extract(object);
    }();
    std::optional<ParentPages> pages;
    if (read)
        pages = std::move(read.mapped());
    else if (images_.parent() != nullptr)
        pages = ParentPages::in(*images_.parent(), object);
    // Counts striped pages of a parent as pages of this dump, because a restore of this dump reads them.
    if (pages && pages->areStriped())
        striped_ = true;
    return pages;
}

std::optional<PageSource> FilePageSources::open(const MemoryObject& object) const {
    const std::string file = imageName(pagemapOf(object), object.id);
    std::vector<std::unique_ptr<const PageLayer>> layers;
    std::string end;
    for (const ImageDir* dir = &images_; dir != nullptr; dir = dir->parent()) {
        auto pagemap = Pagemap::load(*dir, pagemapOf(object), object.id);
        if (!pagemap) {
            end = fmt::format("{} has no {}", dir->name(), file);
            break;
        }
        end = fmt::format("{} has no parent", dir->name());
        // Fetches the pages files now: the process that reads them later may be in a user namespace, and then can't
        // create files in the directory.
        for (const std::uint32_t number : pagemap->stripes().files)
            dir->fetch(imageName(ImageKind::Pages, number));
        const bool unpacked = dir->unpacked() != nullptr && pagemap->codec() != 0;
        const ImageDir& pages = unpacked ? *dir->unpacked() : *dir;
        if (unpacked)
            pagemap->becomeUncompressed();
        // Checks for missing and truncated pages files before criu creates any process.
        if (needsContent(pagemap->ranges()))
            (void)pagemap->openPages(pages, O_RDONLY | O_CLOEXEC);
        layers.push_back(std::make_unique<FileLayer>(pages, dir->name() + "/" + file, std::move(*pagemap), compares_));
        if (!needsParent(layers.back()->ranges()))
            break;
    }
    if (layers.empty())
        return std::nullopt;
    return inContext([&] { return file; }, [&] { return PageSource(std::move(layers), std::move(end)); });
}

std::string FilePageSources::describe(const MemoryObject& object) const {
    return fmt::format("{} ({})", PageSources::describe(object), imageName(pagemapOf(object), object.id));
}

}  // namespace criu::memory
