// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {
class LazyMemory;
}

namespace criu::engine {

/// What is to be supplied next: first pages that somebody waits for, then the others, from where one was wanted last
/// on. Blocks of the latter are small while faults come, so that none waits long behind one.
class LazyQueue {
public:
    using Memory = std::shared_ptr<memory::LazyMemory>;
    struct Job {
        Memory memory;
        memory::LazyPageMap::Order order;
    };
    /// The most bytes of a job.
    static constexpr std::uint64_t kMost = std::uint64_t{2} << 20;

    /// Another process.
    void add(Memory memory);
    /// A thread of a process waits for a page.
    void want(Memory memory, std::uint64_t address);
    /// From now on pages are supplied that nobody waits for.
    void startOthers();
    /// No more jobs.
    void close() noexcept;

    /// The next job; waits for one. Nothing when the queue is closed.
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
    std::deque<Memory> others_;  ///< the one that had a fault last comes first
    std::uint64_t window_ = 0;   ///< bytes of the last block that nobody waited for
    bool othersToo_ = false;
    bool closed_ = false;
};

}  // namespace criu::engine
