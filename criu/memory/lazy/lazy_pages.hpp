// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace criu::memory {

/// Lazy page map of one running process: its missing pages and the locations of their content. A page has its current
/// address `at`, and the address `source` of its content in the image. At first, each page is *waiting*. When a thread
/// takes a request that contains the page, the page is *coming* until it arrives. Changes by the process (forget(),
/// move(), fork()) apply to waiting and coming pages. Not thread-safe.
class LazyPageMap {
public:
    /// Range of consecutive pages. `at`: current address. `source`: address of the content in the image.
    struct Piece {
        std::uint64_t at = 0;
        std::uint64_t bytes = 0;
        std::uint64_t source = 0;
        friend bool operator==(const Piece&, const Piece&) = default;
    };
    /// Lazy pages that one thread reads and copies together.
    struct Request {
        std::uint64_t number = 0;
        std::uint64_t source = 0;
        std::uint64_t bytes = 0;
    };
    enum class State { Unknown, Waiting, Coming };

    /// Adds waiting pages. The range must not overlap other waiting pages.
    void add(const Piece& piece);

    [[nodiscard]] State stateOf(std::uint64_t address) const noexcept;

    /// Returns at most `most` bytes of waiting pages that begin with the page of `address`, without taking them.
    /// Returns nullopt if that page isn't waiting.
    [[nodiscard]] std::optional<Piece> waitingAt(std::uint64_t address, std::uint64_t most) const;
    /// Returns the first waiting pages at or after `address`, without taking them.
    [[nodiscard]] std::optional<Piece> waitingFrom(std::uint64_t address, std::uint64_t most) const;

    /// Takes at most `most` bytes of waiting pages that begin with the page of `address`. Returns nullopt if that page
    /// isn't waiting. Makes takeNext() continue after the taken pages.
    [[nodiscard]] std::optional<Request> takeAt(std::uint64_t address, std::uint64_t most);
    /// Removes and returns the waiting pages that follow the request that was most recently removed. After the highest
    /// address, continues at the lowest address.
    [[nodiscard]] std::optional<Request> takeNext(std::uint64_t most);

    /// Returns the current addresses of a request's missing pages. The result is empty if the process has all of them
    /// or has discarded them.
    [[nodiscard]] std::vector<Piece> placesOf(std::uint64_t request) const;
    /// Records that the process now has `bytes` bytes of a request's pages at `at`.
    void arrived(std::uint64_t request, std::uint64_t at, std::uint64_t bytes);
    /// Removes a request that is complete.
    void close(std::uint64_t request) { requests_.erase(request); }

    /// Records that the process has discarded pages, for instance by madvise(2) or munmap(2).
    void forget(std::uint64_t start, std::uint64_t bytes);
    /// Records that the process has moved pages (mremap(2)). The moved pages replace pages at `to`.
    void move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
    /// Returns the map for a child process, which has a copy of the memory. Pages that are coming to the parent are
    /// waiting in the map of the child.
    [[nodiscard]] LazyPageMap fork() const;
    /// Removes all pages, because the process has ended.
    void clear();

    /// Returns true if no page is waiting or coming.
    [[nodiscard]] bool complete() const noexcept { return waiting_.empty() && requests_.empty(); }
    [[nodiscard]] std::uint64_t waitingBytes() const noexcept;

private:
    struct Waiting {
        std::uint64_t bytes = 0;
        std::uint64_t source = 0;
    };
    using Map = std::map<std::uint64_t, Waiting>;

    [[nodiscard]] Map::const_iterator find(std::uint64_t address) const noexcept;
    Request take(const Piece& piece);
    /// Removes a range from the waiting pages. Returns the removed pieces.
    std::vector<Piece> cutWaiting(std::uint64_t start, std::uint64_t bytes);

    Map waiting_;
    std::map<std::uint64_t, std::vector<Piece>> requests_;
    std::uint64_t nextRequest_ = 1;
    std::uint64_t cursor_ = 0;
};

}  // namespace criu::memory
