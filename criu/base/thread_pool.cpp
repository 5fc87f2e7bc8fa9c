// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/thread_pool.hpp"

#include <sched.h>

#include <system_error>
#include <utility>

#include "criu/base/signals_blocked.hpp"

#include "criu/base/error.hpp"

namespace criu {

unsigned availableCores() noexcept {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof(set), &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count > 0 ? static_cast<unsigned>(count) : 1U;
}

std::thread startThread(std::function<void()> work) {
    try {
        return std::thread(std::move(work));
    } catch (const std::system_error& error) {
        failWith(error.code().value(), "create a thread");
    }
}

ThreadPool::ThreadPool(unsigned threads) {
    const SignalsBlocked blocked;
    workers_.reserve(threads);
    try {
        for (unsigned i = 0; i < threads; ++i)
            workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        // Ignores the failure: the user or the cgroup may have reached its limit of tasks (RLIMIT_NPROC, pids.max).
        // Then fewer threads do the work, or the caller itself.
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
        jobs_.clear();
    }
    ready_.notify_all();
    for (std::thread& worker : workers_)
        worker.join();
}

void ThreadPool::submit(std::function<void()> job) {
    {
        const std::scoped_lock lock(mutex_);
        if (failure_)
            return;
        jobs_.push_back(std::move(job));
    }
    if (workers_.empty())
        runAll();
    else
        ready_.notify_one();
}

void ThreadPool::wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return jobs_.empty() && running_ == 0; });
    if (failure_)
        rethrow(std::exchange(failure_, nullptr));
}

void ThreadPool::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (stopping_)
            return;
        runNext(lock);
    }
}

void ThreadPool::runAll() {
    std::unique_lock lock(mutex_);
    while (!jobs_.empty())
        runNext(lock);
}

void ThreadPool::runNext(std::unique_lock<std::mutex>& lock) {
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
        job();
    } catch (...) {
        failure = std::current_exception();
    }
    job = nullptr;
    lock.lock();
    --running_;
    if (failure && !failure_) {
        failure_ = failure;
        jobs_.clear();
    }
    if (jobs_.empty() && running_ == 0)
        idle_.notify_all();
}

}  // namespace criu
