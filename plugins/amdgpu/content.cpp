// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content.hpp"

#include <signal.h>

#include <utility>

namespace criu::amdgpu {
namespace {

/// New threads take the signal mask of their maker: signals are for the thread that coordinates.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

}  // namespace

ContentMover::~ContentMover() {
    stop(true);
}

void ContentMover::stop(bool drop) noexcept {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        over_ = over_ || drop;
        for (const auto& [minor, worker] : workers_) {
            if (drop)
                worker->jobs.clear();
            worker->ready.notify_all();
        }
    }
    for (const auto& [minor, worker] : workers_)
        if (worker->thread.joinable())
            worker->thread.join();
    workers_.clear();
    ending_ = false;
}

void ContentMover::add(std::uint32_t renderMinor, ContentJob job) {
    const std::lock_guard lock(mutex_);
    if (failure_)
        return;
    if (bytes_ == 0)
        began_ = Clock::now();
    bytes_ += job.size;
    auto& worker = workers_[renderMinor];
    const bool fresh = !worker;
    if (fresh)
        worker = std::make_unique<Worker>();
    worker->jobs.push_back(std::move(job));
    worker->ready.notify_one();
    if (fresh) {
        const SignalsBlocked blocked;
        worker->thread = std::thread([this, renderMinor, &to = *worker] { work(renderMinor, to); });
    }
}

void ContentMover::throwIfOver() {
    if (over_)
        fail("given up");
    if (stop_ != nullptr)
        stop_->throwIfRequested();
}

void ContentMover::work(std::uint32_t renderMinor, Worker& worker) {
    Transfer transfer(kernel_, renderMinor, direction_, limit_, [this] { throwIfOver(); });
    std::unique_lock lock(mutex_);
    for (;;) {
        worker.ready.wait(lock, [&] { return !worker.jobs.empty() || ending_; });
        if (worker.jobs.empty())
            return;
        ContentJob job = std::move(worker.jobs.front());
        worker.jobs.pop_front();
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
            for (const auto& [minor, other] : workers_)
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
