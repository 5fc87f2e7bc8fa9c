// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "criu/engine/fwd.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::engine {

/// Queue of pages to supply. Wanted pages, on which a thread has faulted, come first. The others follow, beginning
/// behind the last fault. Their blocks stay small while faults occur, so that a fault doesn't wait long for one.
class LazyQueue {
public:
    using Memory = std::shared_ptr<memory::LazyMemory>;
    struct Job {
        Memory memory;
        memory::LazyPageMap::Order order;
    };
    /// Maximum bytes of a job.
    static constexpr std::uint64_t kMost = std::uint64_t{2} << 20;

    /// Adds the memory of a process.
    void add(Memory memory);
    /// Adds a page on which a thread has faulted.
    void want(Memory memory, std::uint64_t address);
    /// Allows jobs for pages that no thread has faulted on.
    void startOthers();
    /// Ends the queue: no more jobs are returned.
    void close() noexcept;

    /// Waits for a job and returns it. Returns nothing when the queue is closed.
    [[nodiscard]] std::optional<Job> next();

private:
    struct Wanted {
        Memory memory;
        std::uint64_t address = 0;
    };
    [[nodiscard]] std::optional<Job> nextWanted();
    [[nodiscard]] std::optional<Job> nextOther();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Wanted> wanted_;
    std::deque<Memory> others_;  ///< the memory with the latest fault comes first
    std::uint64_t window_ = 0;   ///< bytes of the last block of pages that no thread has faulted on
    bool othersToo_ = false;     ///< true after startOthers()
    bool closed_ = false;
};

}  // namespace criu::engine
