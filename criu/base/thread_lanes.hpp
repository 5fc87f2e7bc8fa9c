// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace criu {

/// Threads that divide work between them. A lane is the part of one thread. Unlike a job of ThreadPool, work of a lane
/// always runs in the same thread. For example, the kernel accepts ptrace(2) calls for a task only from the thread that
/// has seized it (ptrace_check_attach() in kernel/ptrace.c).
///
/// Lane 0 is the thread that creates the object. It must also call all functions.
class ThreadLanes {
public:
    /// Creates `lanes` lanes, or fewer if the kernel refuses to create a thread. `lanes` is at least 1. The threads
    /// have file system attributes of their own (CLONE_FS), because setns(2) refuses to change a mount namespace if
    /// threads share them.
    explicit ThreadLanes(std::size_t lanes);
    ~ThreadLanes();
    ThreadLanes(const ThreadLanes&) = delete;
    ThreadLanes& operator=(const ThreadLanes&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return threads_.size() + 1; }

    /// Part of a list that belongs to a lane: elements from index `first` to `end`.
    struct Part {
        std::size_t first;
        std::size_t end;
    };
    /// Divides a list of `size` elements into equal parts, and returns that of `lane`.
    [[nodiscard]] Part part(std::size_t size, std::size_t lane) const noexcept {
        return {size * lane / count(), size * (lane + 1) / count()};
    }

    /// Calls `work` once in each lane, with the index of the lane, and waits until all calls have returned. Then throws
    /// the exception of the first lane whose call has thrown one.
    void run(const std::function<void(std::size_t lane)>& work);

private:
    void serve(std::size_t lane);
    void attempt(const std::function<void(std::size_t lane)>& work, std::size_t lane) noexcept;

    std::mutex mutex_;
    std::condition_variable begun_;
    std::condition_variable ended_;
    const std::function<void(std::size_t lane)>* work_ = nullptr;  ///< function of the current run
    std::uint64_t runs_ = 0;                                       ///< number of runs that have begun
    std::size_t running_ = 0;                                      ///< number of threads that haven't ended the run
    bool stopping_ = false;
    std::vector<std::exception_ptr> failures_;  ///< one element for each lane
    std::vector<std::thread> threads_;          ///< threads of the lanes from 1 on
};

}  // namespace criu
