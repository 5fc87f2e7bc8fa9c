// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace criu::memory {

/// Which pages of one running process are still to come, and where their content is to be found. Pages are where the
/// process has them by now (`at`), their content is named by the address that they had in the image (`source`).
///
/// Pages *wait* until somebody takes an order for them; then they are *coming* until they have arrived. Whatever the
/// process does to its memory meanwhile (forget(), move(), fork()) is done to both. Not for several threads at once.
class LazyPageMap {
public:
    /// Consecutive pages.
    struct Piece {
        std::uint64_t at = 0;
        std::uint64_t bytes = 0;
        std::uint64_t source = 0;
        friend bool operator==(const Piece&, const Piece&) = default;
    };
    /// Content to be read in one go.
    struct Order {
        std::uint64_t number = 0;
        std::uint64_t source = 0;
        std::uint64_t bytes = 0;
    };
    enum class State { Unknown, Waiting, Coming };

    /// Adds pages that wait. In ascending order, or anywhere nothing waits.
    void add(const Piece& piece);

    [[nodiscard]] State stateOf(std::uint64_t address) const noexcept;

    /// Pages that wait, from that of `address` on, at most so many bytes; they go on waiting. Nothing if it doesn't.
    [[nodiscard]] std::optional<Piece> waitingAt(std::uint64_t address, std::uint64_t most) const;
    /// The first of those that wait at or behind an address.
    [[nodiscard]] std::optional<Piece> waitingFrom(std::uint64_t address, std::uint64_t most) const;

    /// Takes pages that wait, from that of `address` on, at most so many bytes; nothing if it doesn't wait. What lies
    /// behind is the next that takeNext() finds.
    [[nodiscard]] std::optional<Order> takeAt(std::uint64_t address, std::uint64_t most);
    /// Takes what waits behind the pages taken last; from the beginning again when there is nothing more.
    [[nodiscard]] std::optional<Order> takeNext(std::uint64_t most);

    /// Where the pages of an order are by now; none if they were all forgotten.
    [[nodiscard]] std::vector<Piece> placesOf(std::uint64_t order) const;
    /// Pages of an order are there.
    void arrived(std::uint64_t order, std::uint64_t at, std::uint64_t bytes);
    /// The order is done with.
    void close(std::uint64_t order) { orders_.erase(order); }

    /// The process has given pages up.
    void forget(std::uint64_t start, std::uint64_t bytes);
    /// The process has moved pages, over what was there.
    void move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
    /// For a child that has the same memory at this moment: what is coming waits there again.
    [[nodiscard]] LazyPageMap fork() const;
    /// The process is gone.
    void clear();

    /// Nothing waits or is coming.
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
    /// Cuts a range out of what waits.
    std::vector<Piece> cutWaiting(std::uint64_t start, std::uint64_t bytes);

    Map waiting_;
    std::map<std::uint64_t, std::vector<Piece>> orders_;
    std::uint64_t nextOrder_ = 1;
    std::uint64_t cursor_ = 0;
};

}  // namespace criu::memory
