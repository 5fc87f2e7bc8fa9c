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
#include "criu/kernel/mm/uffd_missing.hpp"
#include "criu/memory/lazy/lazy_content.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {

/// The memory of one running process that is still being supplied with pages.
///
/// One thread reads the events of it, while several others read content and put it there. Between an event being read
/// and it being known here nobody puts anything: the process goes on as soon as it is read, and a page that it has
/// given up must not come back. The kernel holds it the other way round: as long as an event waits, it refuses pages.
class LazyMemory {
public:
    /// `name`: for messages. `fd`: its userfaultfd, whose registered mappings lack `pages`.
    LazyMemory(std::string name, UniqueFd fd, LazyPageMap pages, std::shared_ptr<const LazyContent> content);
    LazyMemory(const LazyMemory&) = delete;
    LazyMemory& operator=(const LazyMemory&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    struct News {
        std::vector<std::uint64_t> wanted;                  ///< pages that wait here, and that a thread waits for
        std::vector<std::unique_ptr<LazyMemory>> children;  ///< of processes that were born
        bool again = false;  ///< something couldn't be answered yet: ask again soon, without waiting for an event
    };
    /// Takes what has happened. For one thread. Throws Error.
    [[nodiscard]] News takeEvents();

    /// As LazyPageMap.
    [[nodiscard]] std::optional<LazyPageMap::Order> takeAt(std::uint64_t address, std::uint64_t most);
    [[nodiscard]] std::optional<LazyPageMap::Order> takeNext(std::uint64_t most);
    [[nodiscard]] std::uint64_t waitingBytes() const;

    /// Reads the pages of an order into `buffer`, which is large enough, and puts them where they belong by now. Throws
    /// Error; then the process can't be completed.
    void supply(const LazyPageMap::Order& order, std::span<std::byte> buffer);

    /// There is nothing left to do: all pages are there, or the process has ended.
    [[nodiscard]] bool complete() const;

    /// Pages put there so far, in bytes.
    [[nodiscard]] std::uint64_t suppliedBytes() const noexcept { return supplied_; }

private:
    /// Either several threads put pages, or one takes events, which goes first.
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

    void apply(kernel::UffdEvent& event, News& news);
    /// When no event is left: the kernel hands out faults before events that tell of what came first, and so a page may
    /// have been moved to where somebody waits for it.
    void answerFaults(News& news);
    [[nodiscard]] LazyPageMap::State stateOf(std::uint64_t page) const;
    /// Puts the beginning of one piece. False if the kernel wants an event to be read first.
    bool put(const LazyPageMap::Order& order, const LazyPageMap::Piece& piece, std::span<const std::byte> content,
             std::uint64_t& most);
    void lose();

    const std::string name_;
    UniqueFd fd_;
    const std::shared_ptr<const LazyContent> content_;
    Gate gate_;
    mutable std::mutex mutex_;  ///< for pages_
    LazyPageMap pages_;
    std::vector<std::uint64_t> faults_;  ///< pages that somebody waits for, and of which nothing is known yet
    std::atomic<bool> hasFaults_{false};
    std::atomic<std::uint64_t> supplied_{0};
};

}  // namespace criu::memory
