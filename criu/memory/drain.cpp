// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/kernel/process_vm.hpp"
#include "criu/memory/bulk.hpp"

namespace criu::memory {
namespace {

/// Long enough that calls don't count, short enough that what was just read is still in the processor's cache when it
/// is written, and that threads end together.
constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;

/// Consecutive bytes of the pages file.
struct Block {
    std::uint64_t fileOffset = 0;
    std::uint64_t bytes = 0;
    std::vector<kernel::RemoteRange> ranges;
};

/// Deals out jobs in blocks.
class Dealer {
public:
    explicit Dealer(std::span<const DrainJob> jobs) : jobs_(jobs) {}

    /// False when all is dealt out.
    bool next(Block& block) {
        const std::lock_guard lock(mutex_);
        block.ranges.clear();
        block.bytes = 0;
        while (!jobs_.empty() && block.bytes < kBlock && block.ranges.size() < IOV_MAX) {
            const DrainJob& job = jobs_.front();
            const std::uint64_t at = job.fileOffset + taken_;
            if (block.ranges.empty())
                block.fileOffset = at;
            else if (block.fileOffset + block.bytes != at)
                break;
            const std::uint64_t part = std::min(job.bytes - taken_, kBlock - block.bytes);
            block.ranges.push_back({job.address + taken_, part});
            block.bytes += part;
            taken_ += part;
            if (taken_ == job.bytes) {
                jobs_ = jobs_.subspan(1);
                taken_ = 0;
            }
        }
        return !block.ranges.empty();
    }

private:
    std::mutex mutex_;
    std::span<const DrainJob> jobs_;
    std::uint64_t taken_ = 0;  ///< of the first job
};

void readFile(int fd, std::uint64_t offset, std::span<std::byte> into) {
    while (!into.empty()) {
        const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (sys(got, "read shared memory at {:#x}", offset) == 0) {
            std::memset(into.data(), 0, into.size());
            return;
        }
        offset += static_cast<std::uint64_t>(got);
        into = into.subspan(static_cast<std::size_t>(got));
    }
}

void writeFile(int fd, std::uint64_t offset, std::span<const std::byte> from) {
    while (!from.empty()) {
        const ssize_t put = ::pwrite(fd, from.data(), from.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR)
            continue;
        sys(put, "write {} bytes at {:#x} of the pages file", from.size(), offset);
        offset += static_cast<std::uint64_t>(put);
        from = from.subspan(static_cast<std::size_t>(put));
    }
}

bool isZero(const std::byte* page) noexcept {
    std::uint64_t first;
    std::memcpy(&first, page, sizeof(first));
    return first == 0 && std::memcmp(page, page + sizeof(first), kPageSize - sizeof(first)) == 0;
}

/// One thread's part in a drain.
class Worker {
public:
    Worker(const DrainSource& source, int pagesFd, std::span<std::byte> buffer)
        : source_(source), pagesFd_(pagesFd), buffer_(buffer) {}

    /// Returns the bytes that became holes.
    std::uint64_t move(const Block& block) {
        const std::span<std::byte> content = buffer_.first(block.bytes);
        if (source_.pid != 0)
            readProcess(block.ranges, content);
        else
            readRanges(block.ranges, content);
        return write(block.fileOffset, content);
    }

private:
    void readRanges(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into) const {
        for (const kernel::RemoteRange& range : ranges) {
            readFile(source_.fd, range.start, into.first(range.size));
            into = into.subspan(range.size);
        }
    }

    void readProcess(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into) {
        while (!ranges.empty()) {
            const kernel::VmTransfer done = kernel::readMemorySome(source_.pid, ranges, into);
            if (done.code == 0)
                return;
            std::uint64_t inRange = done.bytes;
            into = into.subspan(done.bytes);
            while (inRange >= ranges.front().size) {
                inRange -= ranges.front().size;
                ranges = ranges.subspan(1);
            }
            const std::uint64_t address = ranges.front().start + inRange;
            if (done.code != EFAULT || source_.process == nullptr)
                failWith(done.code, "read memory of process {} at {:#x}", source_.pid, address);
            const std::uint64_t rest = ranges.front().size - inRange;
            readUnreadable(address, into.first(rest));
            into = into.subspan(rest);
            ranges = ranges.subspan(1);
        }
    }

    /// The process itself mayn't read this memory; a tracer may, this way.
    void readUnreadable(std::uint64_t address, std::span<std::byte> into) {
        if (!mem_)
            mem_ = source_.process->open("mem", O_RDONLY);
        while (!into.empty()) {
            const ssize_t got = ::pread(mem_.get(), into.data(), into.size(), static_cast<off_t>(address));
            if (got < 0 && errno == EINTR)
                continue;
            if (sys(got, "read memory of process {} at {:#x}", source_.pid, address) == 0)
                fail("memory of process {} at {:#x} can't be read", source_.pid, address);
            address += static_cast<std::uint64_t>(got);
            into = into.subspan(static_cast<std::size_t>(got));
        }
    }

    std::uint64_t write(std::uint64_t offset, std::span<const std::byte> content) const {
        std::uint64_t holes = 0;
        std::size_t at = 0;
        while (at < content.size()) {
            if (isZero(content.data() + at)) {
                holes += kPageSize;
                at += kPageSize;
                continue;
            }
            const std::size_t from = at;
            do {
                at += kPageSize;
            } while (at < content.size() && !isZero(content.data() + at));
            writeFile(pagesFd_, offset + from, content.subspan(from, at - from));
        }
        return holes;
    }

    const DrainSource& source_;
    int pagesFd_;
    std::span<std::byte> buffer_;
    UniqueFd mem_;
};

}  // namespace

Drainer::Drainer(Options options) : options_(std::move(options)) {}

void Drainer::drain(const DrainSource& source, int pagesFd, std::span<const DrainJob> jobs) {
    std::uint64_t total = 0;
    for (const DrainJob& job : jobs)
        total += job.bytes;
    if (total == 0)
        return;
    std::uint64_t threads = 1;
    if (total >= kWorthThreads)
        threads = std::min<std::uint64_t>(availableCores(), total / kBlock);
    if (options_.threads != 0)
        threads = std::min<std::uint64_t>(threads, options_.threads);
    while (buffers_.size() < threads) {
        buffers_.push_back(Mapping::anonymous(kBlock));
        bufferBytes_ += kBlock;
    }

    Dealer dealer(jobs);
    std::atomic<std::uint64_t> zero{0};
    std::atomic<bool> failed{false};
    const auto work = [&](std::size_t index) {
        Worker worker(source, pagesFd, buffers_[index].bytes());
        Block block;
        while (!failed && dealer.next(block)) {
            if (options_.stopWanted && options_.stopWanted())
                failWith(EINTR, "dump memory");
            zero += worker.move(block);
            if (options_.progress)
                options_.progress(block.bytes);
        }
    };
    if (threads == 1) {
        work(0);
    } else {
        ThreadPool pool(static_cast<unsigned>(threads));
        for (std::size_t index = 0; index < threads; ++index)
            pool.submit([&, index] {
                try {
                    work(index);
                } catch (...) {
                    failed = true;
                    throw;
                }
            });
        pool.wait();
    }
    zeroBytes_ += zero;
}

}  // namespace criu::memory
