// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/thread_lanes.hpp"

#include <sched.h>

#include <system_error>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"

namespace criu {

ThreadLanes::ThreadLanes(std::size_t lanes) : failures_(lanes) {
    const SignalsBlocked blocked;
    threads_.reserve(lanes);
    try {
        while (count() < lanes)
            threads_.emplace_back([this, lane = count()] { serve(lane); });
    } catch (const std::system_error&) {
        // Ignores the failure: the user or the cgroup may have reached its limit of tasks (RLIMIT_NPROC, pids.max).
        // Then the other lanes do the work.
    }
}

ThreadLanes::~ThreadLanes() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void ThreadLanes::run(const std::function<void(std::size_t lane)>& work) {
    if (!threads_.empty()) {
        const std::scoped_lock lock(mutex_);
        work_ = &work;
        running_ = threads_.size();
        ++runs_;
    }
    begun_.notify_all();
    attempt(work, 0);
    {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return running_ == 0; });
    }
    std::exception_ptr first;
    for (std::exception_ptr& failure : failures_)
        if (std::exception_ptr taken = std::exchange(failure, nullptr); taken && !first)
            first = std::move(taken);
    if (first)
        rethrow(first);
}

void ThreadLanes::attempt(const std::function<void(std::size_t lane)>& work, std::size_t lane) noexcept {
    try {
        work(lane);
    } catch (...) {
        failures_[lane] = std::current_exception();
    }
}

void ThreadLanes::serve(std::size_t lane) {
    // Ignores a failure: a later visit of a mount namespace then fails with an error of its own.
    (void)::unshare(CLONE_FS);
    std::uint64_t served = 0;
    for (;;) {
        const std::function<void(std::size_t lane)>* work = nullptr;
        {
            std::unique_lock lock(mutex_);
            begun_.wait(lock, [&] { return stopping_ || runs_ != served; });
            if (stopping_)
                return;
            served = runs_;
            work = work_;
        }
        attempt(*work, lane);
        const std::scoped_lock lock(mutex_);
        if (--running_ == 0)
            ended_.notify_one();
    }
}

}  // namespace criu
