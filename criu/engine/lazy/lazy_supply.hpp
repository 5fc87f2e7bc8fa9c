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

/// Supply of lazy pages for the processes of a restore. One thread reads userfaultfd events. Other threads read content
/// and copy it into the processes.
class LazySupply {
public:
    LazySupply(StopRequest& stop, Log& log);
    LazySupply(const LazySupply&) = delete;
    LazySupply& operator=(const LazySupply&) = delete;

    /// Adds a process. Throws Error. `complete`: called when the process has all its pages and no thread uses its
    /// userfaultfd.
    void add(std::unique_ptr<memory::LazyMemory> memory, std::function<void()> complete);

    /// Serves faults until each process has all its pages or has ended. Throws Error. `link`: connection by which the
    /// restore reports that it is done.
    void run(LazyLink& link);

private:
    void work();
    void wake() noexcept;
    void watch(int fd);
    void handle(int fd, LazyLink& link);
    struct Supplied {
        LazyQueue::Memory memory;
        std::function<void()> complete;
    };
    void addSupplied(Supplied supplied);
    void takeEvents(const Supplied& supplied);
    void receiveRestoreDone(LazyLink& link);
    void dropComplete();

    StopRequest& stop_;
    Log& log_;
    UniqueFd events_;  ///< epoll(7)
    UniqueFd wake_;    ///< eventfd(2), readable when a process may be complete or a thread has failed
    std::unordered_map<int, Supplied> memories_;  ///< memory of the processes; the key is the userfaultfd
    LazyQueue queue_;
    std::atomic<bool> failed_{false};
    bool restored_ = false;  ///< true when the restored processes run
    bool again_ = false;     ///< true if run() must soon handle an event again that it couldn't finish
};

}  // namespace criu::engine
