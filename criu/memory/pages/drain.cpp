// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/memory_reader.hpp"

namespace criu::memory {
namespace {

/// Maximum number of queued jobs. They take 1.5 MiB, if each range is fragmented.
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;

/// Range of pages with content, and the position of this content in the sink.
struct QueuedJob {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t position = 0;
    bool shared = false;
};

/// Consecutive content that one thread copies at once.
struct Block {
    std::uint64_t position = 0;
    std::uint64_t bytes = 0;
    std::vector<kernel::RemoteRange> ranges;
    std::vector<bool> shared;  ///< for each range: true if its pages may be shared copy-on-write
};

/// Queue of jobs. Threads take the queued content in blocks.
class JobQueue {
public:
    /// Adds jobs; waits while the queue is full. Returns false if abandon() was called.
    bool add(std::span<const QueuedJob> jobs) {
        while (!jobs.empty()) {
            std::unique_lock lock(mutex_);
            room_.wait(lock, [this] { return abandoned_ || jobs_.size() < kMostWaiting; });
            if (abandoned_)
                return false;
            const std::size_t count = std::min(jobs.size(), kMostWaiting);
            jobs_.insert(jobs_.end(), jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(count));
            jobs = jobs.subspan(count);
            work_.notify_all();
        }
        return true;
    }

    /// Announces that no more jobs follow.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        work_.notify_all();
    }

    /// Makes all waiting and later calls of add() and next() return false.
    void abandon() noexcept {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        work_.notify_all();
        room_.notify_all();
    }

    /// Removes the next block of at most kContentBlock bytes from the queue. Returns false if no job is queued. With
    /// `wait`, waits for jobs, and returns false only after close() or abandon().
    bool next(Block& block, bool wait) {
        std::unique_lock lock(mutex_);
        if (wait)
            work_.wait(lock, [this] { return abandoned_ || closed_ || !jobs_.empty(); });
        block.ranges.clear();
        block.shared.clear();
        block.bytes = 0;
        if (abandoned_)
            return false;
        std::uint64_t room = kContentBlock;
        while (!jobs_.empty() && block.bytes < room && block.ranges.size() < IOV_MAX) {
            const QueuedJob& job = jobs_.front();
            if (block.ranges.empty()) {
                block.position = job.position + taken_;
                room = kContentBlock - block.position % kContentBlock;
            }
            const std::uint64_t part = std::min(job.bytes - taken_, room - block.bytes);
            block.ranges.push_back({job.address + taken_, part});
            block.shared.push_back(job.shared);
            block.bytes += part;
            taken_ += part;
            if (taken_ == job.bytes) {
                jobs_.pop_front();
                taken_ = 0;
            }
        }
        room_.notify_one();
        return !block.ranges.empty();
    }

private:
    std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable room_;
    std::deque<QueuedJob> jobs_;
    std::uint64_t taken_ = 0;  ///< number of bytes of the first job that are already in earlier blocks
    bool closed_ = false;
    bool abandoned_ = false;
};

}  // namespace

struct Drainer::Run::State {
    State(Drainer& owner, const DrainSource& from, PageSink& to)
        : drainer(owner),
          source(from),
          threads(owner.options_.threads == 0 ? availableCores() : owner.options_.threads),
          sink(to) {}

    /// Adds jobs to the sink. Adds jobs with content also to `waiting`.
    void announce(std::span<const DrainJob> jobs) {
        std::vector<PageRun> runs;
        runs.reserve(jobs.size());
        for (const DrainJob& job : jobs)
            runs.push_back(job.run);
        std::uint64_t position = sink.add(runs);
        for (const DrainJob& job : jobs) {
            if (!has(job.run.flags, PageFlags::Present))
                continue;
            waiting.push_back({job.run.address, job.run.bytes, position, job.shared});
            waitingBytes += job.run.bytes;
            position += job.run.bytes;
        }
    }

    /// Copies blocks until the queue is empty; with `wait`, until it is closed. Each thread passes the index of its own
    /// buffer.
    void work(std::size_t buffer, bool wait) {
        const Options& options = drainer.options_;
        const std::span<std::byte> room = drainer.buffers_[buffer].bytes();
        MemoryReader reader(source);
        Block block;
        while (queue.next(block, wait)) {
            if (options.stopWanted && options.stopWanted())
                failWith(EINTR, "stopped while copying memory");
            const auto begin =
                options.block ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
            const std::span<std::byte> content = room.first(block.bytes);
            reader.read(block.ranges, block.shared, content);
            zero += sink.write({block.position, block.ranges, content});
            if (options.progress)
                options.progress(block.bytes);
            if (options.block)
                options.block(begin, block.bytes);
        }
    }

    /// Copies all waiting jobs in the calling thread.
    void copyAlone() {
        drainer.makeBuffers(1);
        for (std::span<const QueuedJob> rest = waiting; !rest.empty();) {
            const std::size_t count = std::min(rest.size(), kMostWaiting);
            queue.add(rest.first(count));
            rest = rest.subspan(count);
            work(0, false);
        }
        waiting.clear();
        waitingBytes = 0;
    }

    void startThreads() {
        drainer.makeBuffers(threads);
        sink.share();
        pool.emplace(threads);
        for (std::size_t buffer = 0; buffer < threads; ++buffer)
            pool->submit([this, buffer] {
                try {
                    work(buffer, true);
                } catch (...) {
                    noteFailure(std::current_exception());
                    queue.abandon();
                    sink.abandon();
                    throw;
                }
            });
    }

    /// Waits for the threads. Rethrows the failure that came first. Other threads then fail with ECANCELED, and may end
    /// before the thread that failed first.
    void waitThreads() {
        try {
            pool->wait();
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (failure)
                std::rethrow_exception(failure);
            throw;
        }
    }

    void noteFailure(std::exception_ptr cause) noexcept {
        const std::lock_guard lock(mutex);
        if (!failure)
            failure = std::move(cause);
    }

    Drainer& drainer;
    const DrainSource source;
    const unsigned threads;
    PageSink& sink;
    JobQueue queue;
    /// Jobs that aren't in the queue yet. They stay here until criu decides to use threads.
    std::vector<QueuedJob> waiting;
    std::uint64_t waitingBytes = 0;
    std::atomic<std::uint64_t> zero{0};
    std::mutex mutex;
    std::exception_ptr failure;      ///< first failure of a thread; guarded by `mutex`
    std::optional<ThreadPool> pool;  // last member: destroyed first, because its threads use the other members
};

Drainer::Run::Run(Drainer& drainer, const DrainSource& source, PageSink& sink)
    : state_(std::make_unique<State>(drainer, source, sink)) {}

Drainer::Run::~Run() {
    state_->queue.abandon();
}

void Drainer::Run::add(std::span<const DrainJob> jobs) {
    State& state = *state_;
    state.announce(jobs);
    if (!state.pool) {
        if (state.waitingBytes < kWorthThreads && state.waiting.size() < kMostWaiting)
            return;
        if (state.threads == 1)
            return state.copyAlone();
        state.startThreads();
    }
    if (!state.queue.add(state.waiting))
        state.waitThreads();  // rethrows the error of the thread that failed
    state.waiting.clear();
}

void Drainer::Run::finish() {
    State& state = *state_;
    if (state.pool) {
        state.queue.close();
        state.waitThreads();
    } else {
        state.copyAlone();
    }
    state.drainer.zeroBytes_ += state.zero;
}

Drainer::Drainer(Options options) : options_(std::move(options)) {}

void Drainer::makeBuffers(std::size_t count) {
    while (buffers_.size() < count) {
        buffers_.push_back(Mapping::anonymous(kContentBlock));
        bufferBytes_ += kContentBlock;
    }
}

void Drainer::drain(const DrainSource& source, PageSink& sink, std::span<const DrainJob> jobs) {
    Run run(*this, source, sink);
    run.add(jobs);
    run.finish();
}

}  // namespace criu::memory
