// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/file_contents.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "criu/base/buffer_pool.hpp"
#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/pages_writer.hpp"
#include "images/tmpfs-files.hpp"

namespace criu::namespaces {
namespace {

using memory::PageJob;

/// Maximum of the addresses that criu assigns to files, so that offsets in pages files can't overflow.
constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 62;
/// Size of a file, in bytes, above which several threads fill it.
constexpr std::uint64_t kLarge = memory::kContentBlock * 4;

constexpr std::uint64_t pagesUp(std::uint64_t bytes) noexcept {
    return (bytes + kImagePageSize - 1) / kImagePageSize * kImagePageSize;
}

UniqueFd openToRead(int directory, const std::string& path) {
    return openBelow(directory, path, O_RDONLY | O_NOFOLLOW | O_NOATIME | O_NONBLOCK);
}

/// File that a restore fills. complete() sets its final size and times.
class FilledFile {
public:
    FilledFile(int directory, const TmpfsFileEntry& entry)
        : path_(entry.path),
          start_(entry.start),
          file_(openBelow(directory, entry.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)),
          writer_(file_.get()),
          size_(entry.size),
          accessed_(timespecOf(entry.accessed)),
          modified_(timespecOf(entry.modified)) {
        struct stat stat {};
        sys(::fstat(file_.get(), &stat), "stat it");
        if (!S_ISREG(stat.st_mode) || stat.st_size != 0)
            fail("the archive has something else there than an empty file");
        sys(::ftruncate(file_.get(), static_cast<off_t>(pagesUp(size_))), "make it {} bytes long", size_);
    }

    /// Prepares for write() calls by several threads.
    void share() noexcept { writer_.share(); }
    /// Writes whole pages of the file. Pages of zeroes become holes.
    void write(std::uint64_t address, std::span<const std::byte> content) {
        (void)writer_.write(address - start_, content);
    }

    void complete() const {
        const ErrorContext context([&] { return describe(); });
        sys(::ftruncate(file_.get(), static_cast<off_t>(size_)), "make it {} bytes long", size_);
        changeTimes(file_.get(), accessed_, modified_);
    }

    [[nodiscard]] std::string describe() const { return fmt::format("file {}", path_); }

private:
    std::string path_;
    std::uint64_t start_;
    UniqueFd file_;
    memory::PagesWriter writer_;
    std::uint64_t size_;
    timespec accessed_;
    timespec modified_;
};

/// Threads that fill the files of one file system.
class Filling {
public:
    Filling(int directory, memory::PageSource source)
        : directory_(directory), source_(std::move(source)), pool_(availableCores()) {
        for (const auto& layer : source_.layers())
            contents_.push_back(layer->open());
    }

    void add(Record<TmpfsFileEntry> record) {
        const TmpfsFileEntry& entry = *record;
        if (entry.start % kImagePageSize != 0 || entry.start < end_ || entry.size > kMostAddresses ||
            entry.start > kMostAddresses)
            fail("the place of its content is wrong: {} bytes at {:#x}", entry.size, entry.start);
        end_ = entry.start + pagesUp(entry.size);
        std::uint64_t present = 0;
        std::vector<PageJob> jobs = source_.jobs(entry.start, end_);
        std::erase_if(jobs, [](const PageJob& job) { return job.state == PageJob::State::Absent; });
        for (const PageJob& job : jobs) {
            if (!job.present())
                fail("its content isn't in the images");
            present += job.bytes;
        }
        if (present > kLarge)
            return addLarge(entry, jobs);
        small_.push_back({std::move(record), std::move(jobs)});
        smallBytes_ += present;
        if (smallBytes_ >= memory::kContentBlock || small_.size() >= kTogether)
            handOver();
    }

    void finish() {
        handOver();
        completeLarge();
        pool_.wait();
    }

private:
    /// Number of small files that one thread fills in one job. Such jobs are worthwhile, because opening a small file
    /// takes most of its time.
    static constexpr std::size_t kTogether = 64;
    /// Maximum number of large files that are open at once, because each needs address space for its complete content
    /// (PagesWriter).
    static constexpr std::size_t kOpen = 16;

    struct Small {
        Record<TmpfsFileEntry> record;
        std::vector<PageJob> jobs;
    };

    void fillPart(FilledFile& file, const PageJob& job) {
        const ErrorContext context([&] { return file.describe(); });
        BufferPool::Use buffer(buffers_);
        const std::span<std::byte> bytes = buffer.first(job.bytes);
        iovec target{bytes.data(), bytes.size()};
        contents_.at(job.layer)->read(job.position, {&target, 1});
        file.write(job.address, bytes);
    }

    static void forEachPart(const PageJob& job, const std::function<void(const PageJob&)>& visit) {
        for (PageJob rest = job; rest.bytes != 0;) {
            PageJob part = rest;
            part.bytes = std::min(rest.bytes, memory::kContentBlock);
            visit(part);
            if (part.bytes == rest.bytes)
                return;
            rest = rest.from(part.end());
        }
    }

    void fillSmall(const Small& small) {
        const ErrorContext context([&] { return fmt::format("file {}", small.record->path); });
        FilledFile file(directory_, *small.record);
        for (const PageJob& job : small.jobs)
            forEachPart(job, [&](const PageJob& part) { fillPart(file, part); });
        file.complete();
    }

    void handOver() {
        if (small_.empty())
            return;
        const auto files = std::make_shared<std::vector<Small>>(std::move(small_));
        small_.clear();
        smallBytes_ = 0;
        pool_.submit([this, files] {
            for (const Small& each : *files)
                fillSmall(each);
        });
    }

    void addLarge(const TmpfsFileEntry& entry, const std::vector<PageJob>& jobs) {
        if (large_.size() == kOpen)
            completeLarge();
        large_.push_back(std::make_unique<FilledFile>(directory_, entry));
        FilledFile& file = *large_.back();
        if (pool_.threads() > 1)
            file.share();
        for (const PageJob& job : jobs)
            forEachPart(job, [&](const PageJob& part) { pool_.submit([this, &file, part] { fillPart(file, part); }); });
    }

    void completeLarge() {
        pool_.wait();
        for (const auto& each : large_)
            each->complete();
        large_.clear();
    }

    const int directory_;
    const memory::PageSource source_;
    std::vector<std::unique_ptr<memory::PageContent>> contents_;  ///< one element per layer
    std::uint64_t end_ = 0;                                       ///< first address that no file has
    std::vector<Small> small_;
    std::uint64_t smallBytes_ = 0;
    std::vector<std::unique_ptr<FilledFile>> large_;
    BufferPool buffers_{memory::kContentBlock};
    ThreadPool pool_;  // last member: destroyed first, because its threads use the other members
};

}  // namespace

bool FileContents::take(const std::string& path, const struct stat& stat, bool hasCapabilities) {
    const auto size = static_cast<std::uint64_t>(stat.st_size);
    if (size == 0 || stat.st_blocks == 0 || hasCapabilities || (stat.st_mode & (S_ISUID | S_ISGID)) != 0 ||
        size > kMostAddresses - end_)
        return false;
    files_.push_back({path, end_, stat});
    end_ += pagesUp(size);
    bytes_ += bytesInUse(stat);
    return true;
}

const FileContents::File& FileContents::at(std::uint64_t address) const {
    return *std::prev(std::upper_bound(files_.begin(), files_.end(), address,
                                       [](std::uint64_t each, const File& file) { return each < file.start; }));
}

void FileContents::read(int directory, std::uint64_t address, std::span<std::byte> into) const {
    const File& file = at(address);
    const ErrorContext context([&] { return fmt::format("file {}", file.path); });
    const UniqueFd fd = openToRead(directory, file.path);
    if (requireSameFile(fd.get(), file.stat).st_size != file.stat.st_size)
        fail("its size has changed while it was dumped");
    const std::uint64_t offset = address - file.start;
    const std::size_t there =
        std::min<std::uint64_t>(into.size(), static_cast<std::uint64_t>(file.stat.st_size) - offset);
    readAt(fd.get(), into.first(there), offset);
    std::memset(into.data() + there, 0, into.size() - there);  // bytes of the last page after the end of the file
}

void FileContents::write(int directory, const ImageDir& images, std::uint64_t device, memory::PageSinks& sinks,
                         StopRequest& stop) const {
    // Removes images of an earlier dump, because a restore would fill all files that these images list.
    images.unlink(ImageKind::TmpfsFiles, device);
    images.unlink(ImageKind::FilesPagemap, device);
    if (files_.empty())
        return;
    ImageWriter list = images.create(ImageKind::TmpfsFiles, device);
    const auto sink = sinks.open(memory::MemoryObject::files(device), bytes_);
    memory::Drainer::Options how;
    how.stopWanted = [&stop] { return stop.requested(); };
    memory::Drainer drainer(how);
    memory::DrainSource source;
    source.content = [this, directory](std::uint64_t address, std::span<std::byte> into) {
        read(directory, address, into);
    };
    memory::Drainer::Run copying(drainer, source, *sink);
    std::vector<memory::DrainJob> jobs;
    const auto handOver = [&] {
        copying.add(jobs);
        jobs.clear();
    };
    constexpr std::size_t kJobsAtOnce = 1024;
    for (const File& file : files_) {
        const ErrorContext context([&] { return fmt::format("file {}", file.path); });
        const auto size = static_cast<std::uint64_t>(file.stat.st_size);
        const auto add = [&](std::uint64_t start, std::uint64_t bytes) {
            jobs.push_back({{file.start + start, bytes, PageFlags::Present}});
            if (jobs.size() >= kJobsAtOnce)
                handOver();
        };
        if (bytesInUse(file.stat) >= pagesUp(size))
            add(0, pagesUp(size));
        else
            forEachData(openToRead(directory, file.path).get(), size, [&](std::uint64_t data, std::uint64_t hole) {
                const std::uint64_t start = data / kImagePageSize * kImagePageSize;
                add(start, pagesUp(std::min(hole, size)) - start);  // the file may have grown since stat(2)
            });
        TmpfsFileEntry entry = TMPFS_FILE_ENTRY__INIT;
        std::string path = file.path;
        entry.path = path.data();
        entry.start = file.start;
        entry.size = size;
        entry.accessed = nanosecondsOf(file.stat.st_atim);
        entry.modified = nanosecondsOf(file.stat.st_mtim);
        list.write(entry);
    }
    handOver();
    copying.finish();
    stop.throwIfRequested();
    sink->finish();
    list.finish();
}

void restoreFileContents(int directory, const ImageDir& images, std::uint64_t device,
                         const memory::PageSources& pages) {
    auto list = images.openRead(ImageKind::TmpfsFiles, device);
    if (!list)
        return;
    Filling filling(directory, pages.openRequired(memory::MemoryObject::files(device)));
    while (auto record = list->next<TmpfsFileEntry>()) {
        const ErrorContext context([&, path = std::string((*record)->path)] { return fmt::format("file {}", path); });
        filling.add(std::move(*record));
    }
    filling.finish();
}

}  // namespace criu::namespaces
