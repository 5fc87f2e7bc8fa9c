// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content.hpp"

#include <utility>

#include "criu/base/signals_blocked.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::size_t kThreads = 2;  ///< of each GPU

}  // namespace

ContentMover::~ContentMover() {
    stop(true);
}

void ContentMover::stop(bool drop) noexcept {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        over_ = over_ || drop;
        for (const auto& [minor, gpu] : gpus_) {
            if (drop)
                gpu->jobs.clear();
            gpu->ready.notify_all();
        }
    }
    for (const auto& [minor, gpu] : gpus_)
        for (std::thread& thread : gpu->threads)
            thread.join();
    gpus_.clear();
    ending_ = false;
}

void ContentMover::add(std::uint32_t renderMinor, ContentJob job) {
    const std::lock_guard lock(mutex_);
    if (failure_)
        return;
    if (bytes_ == 0)
        began_ = Clock::now();
    bytes_ += job.size;
    auto& gpu = gpus_[renderMinor];
    if (!gpu)
        gpu = std::make_unique<Gpu>();
    gpu->jobs.push_back(std::move(job));
    gpu->ready.notify_one();
    if (gpu->threads.size() < kThreads) {
        const SignalsBlocked blocked;
        gpu->threads.emplace_back([this, renderMinor, &of = *gpu] { work(renderMinor, of); });
    }
}

void ContentMover::throwIfOver() {
    if (over_)
        fail("given up");
    if (stop_ != nullptr)
        stop_->throwIfRequested();
}

void ContentMover::work(std::uint32_t renderMinor, Gpu& gpu) {
    Transfer transfer(kernel_, renderMinor, direction_, limit_ / kThreads, [this] { throwIfOver(); });
    std::unique_lock lock(mutex_);
    for (;;) {
        gpu.ready.wait(lock, [&] { return !gpu.jobs.empty() || ending_; });
        if (gpu.jobs.empty())
            return;
        ContentJob job = std::move(gpu.jobs.front());
        gpu.jobs.pop_front();
        lock.unlock();
        std::exception_ptr failure;
        try {
            inContext([&] { return fmt::format("content of {} bytes, {}", job.size, renderPath(renderMinor)); },
                      [&] { transfer.move(job); });
        } catch (...) {
            failure = std::current_exception();
        }
        job.dmabuf.reset();
        lock.lock();
        ended_ = Clock::now();
        if (refusal_.empty())
            refusal_ = transfer.refusal();
        if (failure) {
            if (!failure_)
                failure_ = failure;
            over_ = true;
            for (const auto& [minor, other] : gpus_)
                other->jobs.clear();
        }
    }
}

void ContentMover::report(Log& log) const {
    const auto time = bytes_ == 0 ? Clock::duration::zero() : ended_ - began_;
    log.info("amdgpu: {} bytes of GPU memory {} in {} ms", bytes_, direction_ == Direction::Save ? "saved" : "restored",
             std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
    if (!refusal_.empty())
        log.warn("amdgpu: buffers were copied by the processor, since the GPU's copy engine refused: {}", refusal_);
}

void ContentMover::finish() {
    stop(false);
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace criu::amdgpu
