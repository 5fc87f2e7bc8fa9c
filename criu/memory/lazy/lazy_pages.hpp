// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace criu::memory {

/// Lazy page map of one running process: its missing pages and their content. `at` is the current address of a page;
/// `source`, its address in the image, names its content.
/// Pages *wait* until a thread takes an order for them, and then are *coming* until they arrive. Changes of the
/// process (forget(), move(), fork()) apply to both. Not thread-safe.
class LazyPageMap {
public:
    /// Range of consecutive pages.
    struct Piece {
        std::uint64_t at = 0;
        std::uint64_t bytes = 0;
        std::uint64_t source = 0;
        friend bool operator==(const Piece&, const Piece&) = default;
    };
    /// Content that one thread reads at once.
    struct Order {
        std::uint64_t number = 0;
        std::uint64_t source = 0;
        std::uint64_t bytes = 0;
    };
    enum class State { Unknown, Waiting, Coming };

    /// Adds waiting pages, in ascending order or where none wait.
    void add(const Piece& piece);

    [[nodiscard]] State stateOf(std::uint64_t address) const noexcept;

    /// Returns waiting pages from that of `address` on, at most `most` bytes, without taking them; nullopt if that
    /// page doesn't wait.
    [[nodiscard]] std::optional<Piece> waitingAt(std::uint64_t address, std::uint64_t most) const;
    /// Returns the first waiting pages at or after an address, without taking them.
    [[nodiscard]] std::optional<Piece> waitingFrom(std::uint64_t address, std::uint64_t most) const;

    /// Takes waiting pages from that of `address` on, at most `most` bytes; nullopt if that page doesn't wait.
    /// takeNext() continues after them.
    [[nodiscard]] std::optional<Order> takeAt(std::uint64_t address, std::uint64_t most);
    /// Takes the next waiting pages after the last order, starting over at the end.
    [[nodiscard]] std::optional<Order> takeNext(std::uint64_t most);

    /// Returns the current addresses of an order's pages; empty if all were forgotten.
    [[nodiscard]] std::vector<Piece> placesOf(std::uint64_t order) const;
    /// Records that pages of an order have arrived.
    void arrived(std::uint64_t order, std::uint64_t at, std::uint64_t bytes);
    /// Ends an order.
    void close(std::uint64_t order) { orders_.erase(order); }

    /// Records that the process has discarded pages.
    void forget(std::uint64_t start, std::uint64_t bytes);
    /// Records that the process has moved pages over others.
    void move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
    /// Returns the map of a child with a copy of the memory. Its coming pages wait again.
    [[nodiscard]] LazyPageMap fork() const;
    /// Forgets all pages, because the process has ended.
    void clear();

    /// Returns true if no page waits or is coming.
    [[nodiscard]] bool complete() const noexcept { return waiting_.empty() && orders_.empty(); }
    [[nodiscard]] std::uint64_t waitingBytes() const noexcept;

private:
    struct Waiting {
        std::uint64_t bytes = 0;
        std::uint64_t source = 0;
    };
    using Map = std::map<std::uint64_t, Waiting>;

    [[nodiscard]] Map::const_iterator find(std::uint64_t address) const noexcept;
    Order take(const Piece& piece);
    /// Removes a range from the waiting pages.
    std::vector<Piece> cutWaiting(std::uint64_t start, std::uint64_t bytes);

    Map waiting_;
    std::map<std::uint64_t, std::vector<Piece>> orders_;
    std::uint64_t nextOrder_ = 1;
    std::uint64_t cursor_ = 0;
};

}  // namespace criu::memory
