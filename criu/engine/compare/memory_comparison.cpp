// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/memory_comparison.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/content_hash.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/memory/pages/page_source.hpp"

namespace criu::engine {
namespace {

using memory::PageJob;

/// Bytes that are read at once.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

/// Pages of one range of one side.
class Side {
public:
    Side(const memory::PageSources& sources, const memory::MemoryObject& object, std::uint64_t start,
         std::uint64_t bytes)
        : start_(start), source_(sources.open(object)) {
        if (source_) {
            jobs_ = source_->jobs(start, start + bytes);
            reader_.emplace(*source_);
        }
    }

    /// Returns the job of the page at an offset in the range; nothing without pagemap. `bytes` is lowered to the end of
    /// the job.
    const PageJob* find(std::uint64_t offset, std::uint64_t& bytes) {
        const std::uint64_t address = start_ + offset;
        while (next_ < jobs_.size() && jobs_[next_].end() <= address)
            ++next_;
        if (next_ == jobs_.size())
            return nullptr;
        const PageJob& job = jobs_[next_];
        if (job.address > address) {
            bytes = std::min(bytes, job.address - address);
            return nullptr;
        }
        bytes = std::min(bytes, job.end() - address);
        return &job;
    }

    /// Fills `into` with the bytes at an offset, which are within `job`. Pages without content are zero.
    void read(const PageJob* job, std::uint64_t offset, std::span<std::byte> into) {
        if (job == nullptr || job->state == PageJob::State::Absent) {
            std::ranges::fill(into, std::byte{0});
            return;
        }
        if (!job->present())
            fail("the images lack the content of lazy pages from {:#x} on", start_ + offset);
        PageJob part = job->from(start_ + offset);
        part.bytes = into.size();
        reader_->read(part, into);
    }

    static bool hasContent(const PageJob* job) noexcept {
        return job != nullptr && job->state != PageJob::State::Absent;
    }

private:
    std::uint64_t start_;
    std::optional<memory::PageSource> source_;
    std::optional<memory::PageReader> reader_;
    std::vector<PageJob> jobs_;
    std::size_t next_ = 0;
};

/// Collector of consecutive differing pages.
class Runs {
public:
    explicit Runs(const std::function<void(const DifferingBytes&)>& visit) : visit_(visit) {}
    ~Runs() = default;
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

    void add(const DifferingBytes& page) {
        if (run_ && run_->cause == page.cause && run_->pages + run_->size == page.pages) {
            run_->size += page.size;
            run_->count += page.count;
            return;
        }
        finish();
        run_ = page;
    }
    void finish() {
        if (run_)
            visit_(*run_);
        run_.reset();
    }

private:
    const std::function<void(const DifferingBytes&)>& visit_;
    std::optional<DifferingBytes> run_;
};

/// Copies bytes of the kernel from the image to the tree. `address`: address of both pieces in the image.
void equalizeKernelBytes(std::span<const KernelBytes> all, std::uint64_t address, std::span<const std::byte> image,
                         std::span<std::byte> tree) {
    for (const KernelBytes& each : all) {
        const std::uint64_t begin = std::max(each.address, address);
        const std::uint64_t end = std::min(each.address + each.size, address + image.size());
        for (std::uint64_t at = begin; at < end; ++at)
            tree[at - address] = image[at - address];
    }
}

/// Adds the pages of a piece that differ. `address`: address of the piece in the image.
void comparePiece(std::uint64_t address, std::span<const std::byte> image, std::span<const std::byte> tree,
                  Runs& runs) {
    for (std::uint64_t at = 0; at < image.size(); at += kImagePageSize) {
        const std::uint64_t size = std::min<std::uint64_t>(kImagePageSize, image.size() - at);
        if (std::memcmp(&image[at], &tree[at], size) == 0)
            continue;
        DifferingBytes page{DifferingBytes::Cause::Content, address + at, size};
        for (std::uint64_t i = at; i < at + size; ++i) {
            if (image[i] == tree[i])
                continue;
            if (page.count++ == 0) {
                page.first = address + i;
                page.image = static_cast<std::uint8_t>(image[i]);
                page.tree = static_cast<std::uint8_t>(tree[i]);
            }
        }
        runs.add(page);
    }
}

}  // namespace

void MemoryComparison::compare(const memory::MemoryObject& image, const memory::MemoryObject& tree,
                               const ComparedRange& range,
                               const std::function<void(const DifferingBytes&)>& visit) const {
    Side before(image_, image, range.image, range.bytes);
    Side now(tree_, tree, range.tree, range.bytes);
    std::vector<std::byte> imageBytes(std::min(kPiece, range.bytes));
    std::vector<std::byte> treeBytes(imageBytes.size());
    Runs runs(visit);
    for (std::uint64_t offset = 0; offset < range.bytes;) {
        std::uint64_t bytes = range.bytes - offset;
        const PageJob* const one = before.find(offset, bytes);
        const PageJob* const other = now.find(offset, bytes);
        const bool inImage = Side::hasContent(one);
        const bool inTree = Side::hasContent(other);
        const std::uint64_t at = range.image + offset;
        if (!inImage && !inTree) {
            offset += bytes;
            continue;
        }
        if (range.ofFile && inImage != inTree) {
            using enum DifferingBytes::Cause;
            runs.add({inImage ? OnlyInImage : OnlyInTree, at, bytes, at});
            offset += bytes;
            continue;
        }
        checkStop_();
        bytes = std::min<std::uint64_t>(bytes, imageBytes.size());
        const std::span first(imageBytes.data(), bytes);
        const std::span second(treeBytes.data(), bytes);
        before.read(one, offset, first);
        now.read(other, offset, second);
        equalizeKernelBytes(range.kernelBytes, at, first, second);
        comparePiece(at, first, second, runs);
        offset += bytes;
    }
    runs.finish();
}

std::size_t hashPages(const memory::PageSources& sources, const memory::MemoryObject& object, std::uint64_t start,
                      std::uint64_t bytes) {
    ContentHash hash;
    const std::uint64_t whole = (bytes + kImagePageSize - 1) / kImagePageSize * kImagePageSize;
    Side side(sources, object, start, whole);
    std::vector<std::byte> piece(std::min(kPiece, whole));
    for (std::uint64_t offset = 0; offset < bytes;) {
        std::uint64_t size = whole - offset;
        const PageJob* const job = side.find(offset, size);
        if (Side::hasContent(job)) {
            size = std::min<std::uint64_t>(size, piece.size());
            side.read(job, offset, std::span(piece.data(), size));
            hash.add(offset, {reinterpret_cast<const char*>(piece.data()), std::min(size, bytes - offset)});
        }
        offset += size;
    }
    return hash.finish();
}

std::uint64_t MemoryComparison::endOf(const memory::MemoryObject& image, const memory::MemoryObject& tree) const {
    std::uint64_t end = 0;
    if (const auto source = image_.open(image))
        end = std::max(end, source->end());
    if (const auto source = tree_.open(tree))
        end = std::max(end, source->end());
    return end;
}

}  // namespace criu::engine
