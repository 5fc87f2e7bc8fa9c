// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/memory/lazy/lazy_content.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {

/// Memory of one running process with lazy pages. One thread reads its events, while other threads read content and
/// supply pages.
/// No thread may supply a page between the read and the processing of an event. The process continues after the read,
/// and a discarded page must not come back. The kernel has the reverse rule: while an event is pending, it refuses
/// pages.
class LazyMemory {
public:
    /// `name`: for messages. `fd`: userfaultfd of the process, whose registered mappings lack `pages`.
    LazyMemory(std::string name, UniqueFd fd, LazyPageMap pages, std::shared_ptr<const LazyContent> content);
    LazyMemory(const LazyMemory&) = delete;
    LazyMemory& operator=(const LazyMemory&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    struct News {
        std::vector<std::uint64_t> wanted;                  ///< waiting pages that a thread of the process faulted on
        std::vector<std::unique_ptr<LazyMemory>> children;  ///< memory of new child processes
        bool again = false;  ///< a fault is still unserved: call again soon, without an event
    };
    /// Reads and processes events. Only one thread may call it. Throws Error.
    [[nodiscard]] News takeEvents();

    /// Like LazyPageMap's functions, but thread-safe.
    [[nodiscard]] std::optional<LazyPageMap::Order> takeAt(std::uint64_t address, std::uint64_t most);
    [[nodiscard]] std::optional<LazyPageMap::Order> takeNext(std::uint64_t most);
    [[nodiscard]] std::uint64_t waitingBytes() const;

    /// Reads the pages of an order into `buffer`, which must be large enough, and copies them to their current
    /// addresses. Throws Error; then the process can't be completed.
    void supply(const LazyPageMap::Order& order, std::span<std::byte> buffer);

    /// Returns true if all pages have arrived or the process has ended.
    [[nodiscard]] bool complete() const;

    /// Returns the bytes supplied so far.
    [[nodiscard]] std::uint64_t suppliedBytes() const noexcept { return supplied_; }

private:
    /// Lock that admits several threads that supply pages, or one that reads events, which has priority.
    class Gate {
    public:
        void enterPutting();
        void leavePutting();
        void enterTaking();
        void leaveTaking();

    private:
        std::mutex mutex_;
        std::condition_variable changed_;
        unsigned putting_ = 0;
        bool taking_ = false;
    };

    void readEvents(News& news);
    /// Serves faults when no event is left.
    void answerFaults(News& news);
    [[nodiscard]] LazyPageMap::State stateOf(std::uint64_t page) const;
    /// Supplies the beginning of one piece. Returns false if the kernel requires that an event is read first.
    bool put(const LazyPageMap::Order& order, const LazyPageMap::Piece& piece, std::span<const std::byte> content,
             std::uint64_t& most);
    void lose();

    const std::string name_;
    UniqueFd fd_;
    const std::shared_ptr<const LazyContent> content_;
    Gate gate_;
    mutable std::mutex mutex_;  ///< guards pages_
    LazyPageMap pages_;
    std::vector<std::uint64_t> faults_;  ///< faulting pages without a known state
    std::atomic<bool> hasFaults_{false};
    std::atomic<std::uint64_t> supplied_{0};
};

}  // namespace criu::memory
