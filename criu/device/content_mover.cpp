// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/content_mover.hpp"

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/read_watch.hpp"

namespace criu::device {
namespace {

// Minimum number of threads: one does file I/O while the other one waits for the device.
constexpr std::size_t kFewestThreads = 2;
// Maximum number of threads. On PCIe 5, more threads don't increase the speed, because the memory of the page cache
// limits it.
constexpr std::size_t kMostThreads = 16;

/// Returns the size of the piece that begins at `start`. For an ordered store, a piece is one block, because blocks
/// must be written in order. If a piece had several blocks, other threads would wait for the work on all of them, such
/// as compression.
std::uint64_t pieceOf(const ContentJob& job, std::uint64_t start) {
    const std::uint64_t position = job.position + start;
    const std::uint64_t most =
        job.store->isOrdered() ? memory::kContentBlock - position % memory::kContentBlock : kContentPiece;
    return std::min(job.size - start, most);
}

}  // namespace

std::size_t contentThreads(unsigned cores, std::size_t devices) noexcept {
    return std::clamp(cores / std::max<std::size_t>(devices, 1), kFewestThreads, kMostThreads);
}

std::uint64_t contentBuffer(std::uint64_t limit, std::size_t threads) noexcept {
    return limit == kDefaultContentLimit ? kContentBuffer : limit / threads;
}

ContentMover::ContentMover(ContentDriver& driver, Direction direction, std::uint64_t bufferLimit, StopRequest* stop,
                           const memory::ReadWatch& watch)
    : driver_(driver),
      direction_(direction),
      limit_(bufferLimit),
      cores_(availableCores()),
      stop_(stop),
      watch_(watch) {}

ContentMover::~ContentMover() {
    endThreads(true);
}

void ContentMover::endThreads(bool drop) noexcept {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        over_ = over_ || drop;
        for (const auto& [number, device] : devices_) {
            if (drop)
                device->jobs.clear();
            device->ready.notify_all();
        }
    }
    for (const auto& [number, device] : devices_)
        for (std::thread& thread : device->threads)
            thread.join();
    devices_.clear();
    ending_ = false;
}

void ContentMover::add(std::uint32_t number, ContentJob job) {
    const std::lock_guard lock(mutex_);
    if (failure_)
        return;
    if (bytes_ == 0)
        began_ = Clock::now();
    bytes_ += job.size;
    auto& device = devices_[number];
    if (!device)
        device = std::make_unique<Device>();
    const auto whole = std::make_shared<const ContentJob>(std::move(job));
    std::uint64_t start = 0;
    do {
        const std::uint64_t size = pieceOf(*whole, start);
        device->jobs.push_back({whole, start, size});
        device->ready.notify_one();
        if (device->threads.size() < contentThreads(cores_, devices_.size())) {
            const SignalsBlocked blocked;
            const std::uint64_t share = contentBuffer(limit_, contentThreads(cores_, devices_.size()));
            device->threads.emplace_back([this, number, &of = *device, share] { work(number, of, share); });
        }
        start += size;
    } while (start < whole->size);
}

void ContentMover::throwIfOver() {
    if (over_)
        fail("given up");
    if (stop_ != nullptr)
        stop_->throwIfRequested();
}

void ContentMover::work(std::uint32_t number, Device& device, std::uint64_t share) {
    const std::unique_ptr<ContentCopier> copier =
        driver_.makeCopier(number, direction_, share, [this] { throwIfOver(); });
    std::unique_lock lock(mutex_);
    for (;;) {
        device.ready.wait(lock, [&] { return !device.jobs.empty() || ending_; });
        if (device.jobs.empty())
            return;
        Work work = std::move(device.jobs.front());
        device.jobs.pop_front();
        lock.unlock();
        std::exception_ptr failure;
        try {
            const ErrorContext context(
                [&] { return fmt::format("content of {} bytes, {}", work.job->size, driver_.describe(number)); });
            const Clock::time_point began = Clock::now();
            copier->copy(
                {work.job->buffer.get(), work.start, work.size, work.job->store, work.job->position + work.start});
            if (watch_.piece)
                watch_.piece(began, work.size);
        } catch (...) {
            failure = std::current_exception();
        }
        if (!failure)
            work.job.reset();
        lock.lock();
        ended_ = Clock::now();
        if (fallback_.empty())
            fallback_ = copier->fallback();
        if (failure) {
            if (!failure_)
                failure_ = failure;
            // Wakes threads that wait to write in the order of positions. Their writes then fail.
            work.job->store->abandon();
            over_ = true;
            for (const auto& [other, queue] : devices_)
                queue->jobs.clear();
        }
    }
}

void ContentMover::report(Log& log) const {
    const auto time = bytes_ == 0 ? Clock::duration::zero() : ended_ - began_;
    log.info("{}: {} bytes of device memory {} in {} ms", driver_.name(), bytes_,
             direction_ == Direction::Save ? "saved" : "restored",
             std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
    if (!fallback_.empty())
        log.warn("{}: buffers were copied by the processor, since the device's copy engine refused: {}", driver_.name(),
                 fallback_);
}

void ContentMover::finish() {
    endThreads(false);
    if (failure_)
        rethrow(std::exchange(failure_, nullptr));
}

}  // namespace criu::device
