// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/lazy/lazy_queue.hpp"

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {

class LazyLink;

/// Supplies processes with their late pages: one thread takes events, several read content and put it there.
class LazySupply {
public:
    LazySupply(StopRequest& stop, Log& log);
    LazySupply(const LazySupply&) = delete;
    LazySupply& operator=(const LazySupply&) = delete;

    /// Another process. `complete` is called when it has all pages and its descriptor isn't used any more,
    /// `allComplete` when that is so of all that it has created meanwhile, too. Throws Error.
    void add(std::unique_ptr<memory::LazyMemory> memory, std::function<void()> complete,
             std::function<void()> allComplete);

    /// Returns when all of them have all pages, or have ended. `link`: tells when the restore is done; faults are
    /// served from the beginning. Throws Error.
    void run(LazyLink& link);

private:
    void work();
    void wake() noexcept;
    void watch(int fd);
    void handle(int fd, LazyLink& link);
    struct Supplied {
        LazyQueue::Memory memory;
        std::function<void()> complete;
        std::shared_ptr<const std::function<void()>> allComplete;  ///< a process and its children have one
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
    bool restored_ = false;
    bool again_ = false;  ///< some process has something that couldn't be answered yet
};

}  // namespace criu::engine
