// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/memory/bulk.hpp"

namespace criu::memory {
namespace {

/// One request: long enough to be efficient, short enough to spread evenly.
constexpr std::uint64_t kSlice = std::uint64_t{2} << 20;

/// Jobs that follow each other in the file, read with one call that scatters them.
struct Batch {
    std::uint64_t fileOffset = 0;
    std::uint64_t bytes = 0;
    std::vector<iovec> targets;
};

std::vector<Batch> makeBatches(std::span<const FillJob> jobs) {
    std::vector<Batch> batches;
    for (FillJob job : jobs) {
        while (job.bytes > 0) {
            const bool follows = !batches.empty() &&
                                 batches.back().fileOffset + batches.back().bytes == job.fileOffset &&
                                 batches.back().bytes < kSlice && batches.back().targets.size() < IOV_MAX;
            if (!follows)
                batches.push_back({job.fileOffset, 0, {}});
            Batch& batch = batches.back();
            const std::uint64_t part = std::min(job.bytes, kSlice - batch.bytes);
            batch.targets.push_back({reinterpret_cast<void*>(job.address), part});
            batch.bytes += part;
            job.fileOffset += part;
            job.address += part;
            job.bytes -= part;
        }
    }
    return batches;
}

/// Gets pages for what is about to be read. One request for many costs a sixth less than a fault for each. Only an
/// attempt: where it can't be done, reading faults them in, or fails with the reason.
void populate(const Batch& batch) noexcept {
    constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE (5.14)
    constexpr std::size_t kWorthwhile = std::size_t{32} << 10;
    for (const iovec& target : batch.targets)
        if (target.iov_len >= kWorthwhile)
            ::madvise(target.iov_base, target.iov_len, kPopulateWrite);
}

void readBatch(int fd, Batch& batch) {
    populate(batch);
    std::uint64_t offset = batch.fileOffset;
    std::size_t first = 0;
    while (first < batch.targets.size()) {
        const auto count = static_cast<int>(std::min<std::size_t>(batch.targets.size() - first, IOV_MAX));
        ssize_t got = ::preadv(fd, batch.targets.data() + first, count, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            failErrno("read {} bytes of memory content at {:#x} of the pages file", batch.bytes, offset);
        if (got == 0)
            fail("the pages file ends at {:#x}, within the memory's content", offset);
        offset += static_cast<std::uint64_t>(got);
        while (got > 0) {
            iovec& target = batch.targets[first];
            const std::size_t part = std::min(static_cast<std::size_t>(got), target.iov_len);
            target.iov_base = static_cast<char*>(target.iov_base) + part;
            target.iov_len -= part;
            got -= static_cast<ssize_t>(part);
            if (target.iov_len == 0)
                ++first;
        }
    }
}

}  // namespace

void fillMemory(int fd, std::span<const FillJob> jobs) {
    std::vector<Batch> batches = makeBatches(jobs);
    std::uint64_t total = 0;
    for (const Batch& batch : batches)
        total += batch.bytes;
    const unsigned cores = availableCores();
    if (total < kWorthThreads || cores < 2 || batches.size() < 2) {
        for (Batch& batch : batches)
            readBatch(fd, batch);
        return;
    }
    ThreadPool pool(std::min<unsigned>(cores, static_cast<unsigned>(batches.size())));
    for (Batch& batch : batches)
        pool.submit([fd, &batch] { readBatch(fd, batch); });
    pool.wait();
}

}  // namespace criu::memory
