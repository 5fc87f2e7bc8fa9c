// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/lazy/lazy_queue.hpp"

namespace criu::engine {

/// Supplies processes with lazy pages. One thread reads userfaultfd events. Several threads read content and copy it
/// into the processes.
class LazySupply {
public:
    LazySupply(StopRequest& stop, Log& log);
    LazySupply(const LazySupply&) = delete;
    LazySupply& operator=(const LazySupply&) = delete;

    /// Adds a process. Calls `complete` when it has all pages and its descriptor isn't used any more. Calls
    /// `allComplete` when its later children have all pages, too. Throws Error.
    void add(std::unique_ptr<memory::LazyMemory> memory, std::function<void()> complete,
             std::function<void()> allComplete);

    /// Returns when all processes have all pages or have ended. Serves faults from the beginning. `link` reports the
    /// end of the restore. Throws Error.
    void run(LazyLink& link);

private:
    void work();
    void wake() noexcept;
    void watch(int fd);
    void handle(int fd, LazyLink& link);
    struct Supplied {
        LazyQueue::Memory memory;
        std::function<void()> complete;
        std::shared_ptr<const std::function<void()>> allComplete;  ///< shared by a process and its children
    };
    void addSupplied(Supplied supplied);
    void takeEvents(const Supplied& supplied);
    void receiveRestoreDone(LazyLink& link);
    void dropComplete();

    StopRequest& stop_;
    Log& log_;
    UniqueFd events_;                             ///< epoll(7)
    UniqueFd wake_;                               ///< eventfd(2): a process may be complete, or a thread has failed
    std::unordered_map<int, Supplied> memories_;  ///< by descriptor
    LazyQueue queue_;
    std::atomic<bool> failed_{false};
    bool restored_ = false;  ///< true when the restored processes run
    bool again_ = false;     ///< true if an event of a process must be handled again soon
};

}  // namespace criu::engine
