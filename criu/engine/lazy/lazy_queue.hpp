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

/// Queue of lazy pages that the daemon must supply. next() divides it into jobs. Pages on which a thread has faulted
/// come first. Waiting pages follow, beginning after the most recent fault. Jobs for waiting pages stay small while
/// faults occur, so that a faulting thread doesn't wait long.
class LazyQueue {
public:
    using Memory = std::shared_ptr<memory::LazyMemory>;
    struct Job {
        Memory memory;
        memory::LazyPageMap::Request request;
    };
    /// Maximum number of bytes of a job.
    static constexpr std::uint64_t kMost = std::uint64_t{2} << 20;

    /// Adds the memory of a process.
    void add(Memory memory);
    /// Adds a page on which a thread has faulted.
    void want(Memory memory, std::uint64_t address);
    /// Allows jobs for waiting pages (on which no thread has faulted). Many faults have the same effect.
    void startOthers();
    /// Ends the queue: next() then returns no jobs.
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
    std::deque<Memory> others_;  ///< memory of all processes; the memory with the most recent fault comes first
    std::uint64_t window_ = 0;   ///< size in bytes of the previous job for waiting pages
    bool othersToo_ = false;     ///< true after startOthers() or many faults
    unsigned faults_ = 0;        ///< number of pages on which threads have faulted
    bool closed_ = false;
};

}  // namespace criu::engine
