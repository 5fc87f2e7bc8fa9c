// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_reader.hpp"

#include <limits.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/missing_memory.hpp"

namespace criu::memory {
namespace {

/// Maximum size in bytes of one read. It is large enough to be efficient, and small enough to distribute the work
/// evenly among threads.
constexpr std::uint64_t kReadSlice = std::uint64_t{2} << 20;

/// Populates pages before a read (Linux 5.14), because one madvise(2) call takes a sixth less time than the page
/// faults. Ignores errors: the later read causes the faults, or fails with the reason.
void populate(std::span<const iovec> targets) noexcept {
    constexpr std::size_t kWorthwhile = std::size_t{32} << 10;
    for (const iovec& target : targets)
        if (target.iov_len >= kWorthwhile)
            ::madvise(target.iov_base, target.iov_len, MADV_POPULATE_WRITE);
}

void requirePresent(const PageJob& job) {
    if (job.state == PageJob::State::Lazy)
        fail("the content of {:#x} isn't in the images (a lazy dump)", job.address);
    if (!job.present())
        fail("there is no content of {:#x}", job.address);
}

}  // namespace

/// Pages whose content is consecutive in one layer, so that one call can read them.
struct PageReader::Batch {
    std::size_t layer = 0;
    std::uint64_t position = 0;
    std::uint64_t bytes = 0;
    bool missing = false;  ///< true if the targets are in a MissingMemory
    std::vector<iovec> targets;
};

PageReader::PageReader(const PageSource& source, std::function<void()> checkStop, ReadWatch watch)
    : source_(source), checkStop_(std::move(checkStop)), watch_(std::move(watch)), contents_(source.layers().size()) {}

std::vector<PageReader::Batch> PageReader::makeBatches(std::span<const PlacedPages> pages) {
    std::vector<Batch> batches;
    for (const PlacedPages& placed : pages) {
        requirePresent(placed.job);
        for (std::uint64_t done = 0; done < placed.job.bytes;) {
            const std::uint64_t position = placed.job.position + done;
            const bool follows = !batches.empty() && batches.back().layer == placed.job.layer &&
                                 batches.back().missing == placed.missing &&
                                 batches.back().position + batches.back().bytes == position &&
                                 batches.back().bytes < kReadSlice && batches.back().targets.size() < IOV_MAX;
            if (!follows)
                batches.push_back({placed.job.layer, position, 0, placed.missing, {}});
            Batch& batch = batches.back();
            const std::uint64_t part = std::min(placed.job.bytes - done, kReadSlice - batch.bytes);
            batch.targets.push_back({reinterpret_cast<void*>(placed.at + done), part});
            batch.bytes += part;
            done += part;
        }
    }
    return batches;
}

void PageReader::readBatch(Batch& batch) const {
    if (checkStop_)
        checkStop_();
    const auto begin = std::chrono::steady_clock::now();
    if (batch.missing) {
        try {
            copyBatch(batch);
        } catch (const Error& error) {
            if (error.code() == EFAULT)
                requireReadable(batch);
            throw;
        }
    } else {
        populate(batch.targets);
        contents_[batch.layer]->read(batch.position, batch.targets);
    }
    if (watch_.piece)
        watch_.piece(begin, batch.bytes);
    if (frees_)
        contents_[batch.layer]->free(batch.position, batch.bytes);
}

/// Reads the content of a batch, and throws the error of the storage. A copy from a view fails with EFAULT instead.
void PageReader::requireReadable(const Batch& batch) const {
    std::vector<std::byte> content(batch.bytes);
    iovec into{content.data(), content.size()};
    contents_[batch.layer]->read(batch.position, {&into, 1});
}

void PageReader::copyBatch(const Batch& batch) const {
    auto target = batch.targets.begin();
    std::size_t filled = 0;  // bytes of `target` that have their content
    contents_[batch.layer]->forEachView(batch.position, batch.bytes, [&](PageContent::View view) {
        while (!view.empty()) {
            const std::size_t part = std::min(view.size(), target->iov_len - filled);
            missing_->copy(reinterpret_cast<std::uint64_t>(target->iov_base) + filled, view.first(part));
            view = view.subspan(part);
            filled += part;
            if (filled == target->iov_len) {
                ++target;
                filled = 0;
            }
        }
    });
}

void PageReader::read(std::span<const PlacedPages> pages) {
    std::vector<Batch> batches = makeBatches(pages);
    std::uint64_t total = 0;
    for (const Batch& batch : batches) {
        content(batch.layer);
        total += batch.bytes;
    }
    if (watch_.expected)
        watch_.expected(total);
    const unsigned cores = mostThreads_ == 0 ? availableCores() : std::min(mostThreads_, availableCores());
    if (total < kWorthThreads || cores < 2 || batches.size() < 2) {
        for (Batch& batch : batches)
            readBatch(batch);
        return;
    }
    ThreadPool pool(std::min<unsigned>(cores, static_cast<unsigned>(batches.size())));
    for (Batch& batch : batches)
        pool.submit([this, &batch] { readBatch(batch); });
    pool.wait();
}

void PageReader::read(const PageJob& job, std::span<std::byte> into) {
    requirePresent(job);
    iovec target{into.data(), into.size()};
    const ErrorContext context([&] { return fmt::format("content of {:#x}", job.address); });
    content(job.layer).read(job.position, {&target, 1});
}

PageContent& PageReader::content(std::size_t layer) {
    std::unique_ptr<PageContent>& content = contents_.at(layer);
    if (!content)
        content = frees_ ? source_.layers()[layer]->openToFree() : source_.layers()[layer]->open();
    return *content;
}

}  // namespace criu::memory
