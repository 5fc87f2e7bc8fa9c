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

/// Returns the number of cores on which this process may run (sched_getaffinity(2)); at least 1.
unsigned availableCores() noexcept;

/// Starts a thread that executes `work`. Throws Error, because the exception of std::thread doesn't say what failed.
[[nodiscard]] std::thread startThread(std::function<void()> work);

/// Pool of threads that run jobs in the order of submit(). After the first exception, the pool discards all jobs that
/// haven't started, and wait() throws the exception. If no thread can be created, submit() runs the job itself.
/// The destructor discards jobs that haven't started, and joins all threads, so that a later fork(2) is safe.
class ThreadPool {
public:
    explicit ThreadPool(unsigned threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    void submit(std::function<void()> job);

    /// Waits until all jobs have ended. Throws the first exception of a job.
    void wait();

    [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(workers_.size()); }

private:
    void work();
    void runAll();
    void runNext(std::unique_lock<std::mutex>& lock);

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
