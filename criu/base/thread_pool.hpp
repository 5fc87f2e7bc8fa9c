// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace criu {

/// Cores this process may run on (sched_getaffinity), at least 1.
unsigned availableCores() noexcept;

/// Worker threads that run jobs in submission order. The first exception of a job is kept, the jobs not yet
/// started are dropped, and wait() throws it. The destructor drops what hasn't started and joins: no thread outlives
/// the pool, so a fork after it is safe.
class ThreadPool {
public:
    explicit ThreadPool(unsigned threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    void submit(std::function<void()> job);

    /// Blocks until all submitted jobs have ended; throws what the first failed job threw.
    void wait();

    [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(workers_.size()); }

private:
    void work();

    std::mutex mutex_;
    std::condition_variable ready_;
    std::condition_variable idle_;
    std::deque<std::function<void()>> jobs_;
    std::size_t running_ = 0;
    bool stopping_ = false;
    std::exception_ptr failure_;
    std::vector<std::thread> workers_;
};

}  // namespace criu
