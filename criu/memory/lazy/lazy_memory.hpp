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

/// Memory of one running process with lazy pages. One thread reads its userfaultfd events, while other threads read
/// content and supply pages. No thread may supply a page between the read and the processing of an event. The read lets
/// the process continue, and a page that the process has discarded must not appear again. While an event is pending,
/// the kernel itself refuses supplied pages with EAGAIN.
class LazyMemory {
public:
    /// `name`: name of the process for error messages. `fd`: userfaultfd of the process. `pages`: missing pages of the
    /// registered mappings.
    LazyMemory(std::string name, UniqueFd fd, LazyPageMap pages, std::shared_ptr<const LazyContent> content);
    LazyMemory(const LazyMemory&) = delete;
    LazyMemory& operator=(const LazyMemory&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    struct News {
        std::vector<std::uint64_t> wanted;  ///< addresses of waiting pages on which a thread of the process faulted
        std::vector<std::unique_ptr<LazyMemory>> children;  ///< memory of new child processes
        bool again = false;  ///< true if a fault is still unserved: the caller must soon call takeEvents() again, even
                             ///< if no event arrives
    };
    /// Reads and processes userfaultfd events. Only one thread may call it. Throws Error.
    [[nodiscard]] News takeEvents();

    /// Thread-safe functions that do the same as the functions of LazyPageMap with these names.
    [[nodiscard]] std::optional<LazyPageMap::Request> takeAt(std::uint64_t address, std::uint64_t most);
    [[nodiscard]] std::optional<LazyPageMap::Request> takeNext(std::uint64_t most);
    [[nodiscard]] std::uint64_t waitingBytes() const;

    /// Reads the pages of `request` into `buffer`, which must have request.bytes bytes. Copies the pages to their
    /// current addresses in the process. After a thrown Error, the process can't get all its pages.
    void supply(const LazyPageMap::Request& request, std::span<std::byte> buffer);

    /// Returns true if all pages have arrived or the process has ended.
    [[nodiscard]] bool complete() const;

    /// Returns the number of bytes that the process got until now.
    [[nodiscard]] std::uint64_t suppliedBytes() const noexcept { return supplied_; }

private:
    /// Lock with two kinds of owners: several threads that supply pages, or the one thread that reads events. The
    /// thread that reads events has priority.
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
    /// Serves faults after all pending events are read.
    void answerFaults(News& news);
    [[nodiscard]] LazyPageMap::State stateOf(std::uint64_t page) const;
    /// Copies the beginning of `piece` into the process. Returns false if the kernel refuses this until an event is
    /// read.
    bool put(const LazyPageMap::Request& request, const LazyPageMap::Piece& piece, std::span<const std::byte> content,
             std::uint64_t& most);
    void lose();

    const std::string name_;
    UniqueFd fd_;
    const std::shared_ptr<const LazyContent> content_;
    Gate gate_;
    mutable std::mutex mutex_;  ///< guards pages_
    LazyPageMap pages_;
    std::vector<std::uint64_t> faults_;  ///< pages on which a thread faulted and which answerFaults() must try again
    std::atomic<bool> hasFaults_{false};
    std::atomic<std::uint64_t> supplied_{0};
};

}  // namespace criu::memory
