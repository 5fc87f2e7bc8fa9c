// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_pages.hpp"

#include <algorithm>

#include "criu/image/pagemap.hpp"

namespace criu::memory {
namespace {

using Piece = LazyPageMap::Piece;

/// Parts of a piece before, within and after a range. Each part may be empty.
struct SplitPiece {
    Piece before;
    Piece inside;
    Piece behind;
};

SplitPiece divide(const Piece& piece, std::uint64_t start, std::uint64_t end) {
    const std::uint64_t last = piece.at + piece.bytes;
    const std::uint64_t from = std::clamp(start, piece.at, last);
    const std::uint64_t to = std::clamp(end, from, last);
    const auto part = [&piece](std::uint64_t first, std::uint64_t behind) {
        return Piece{first, behind - first, piece.source + (first - piece.at)};
    };
    return {part(piece.at, from), part(from, to), part(to, last)};
}

/// Removes a range from a list and returns the removed pieces.
std::vector<Piece> cut(std::vector<Piece>& pieces, std::uint64_t start, std::uint64_t bytes) {
    std::vector<Piece> rest;
    std::vector<Piece> taken;
    for (const Piece& piece : pieces) {
        const SplitPiece parts = divide(piece, start, start + bytes);
        for (const Piece& part : {parts.before, parts.behind})
            if (part.bytes != 0)
                rest.push_back(part);
        if (parts.inside.bytes != 0)
            taken.push_back(parts.inside);
    }
    pieces = std::move(rest);
    return taken;
}

}  // namespace

void LazyPageMap::add(const Piece& piece) {
    if (piece.bytes == 0)
        return;
    // Merges adjacent pieces, because small pieces would cause small requests.
    auto next = waiting_.lower_bound(piece.at);
    if (next != waiting_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.bytes == piece.at &&
            before->second.source + before->second.bytes == piece.source) {
            before->second.bytes += piece.bytes;
            return;
        }
    }
    waiting_.emplace_hint(next, piece.at, Waiting{piece.bytes, piece.source});
}

LazyPageMap::Map::const_iterator LazyPageMap::find(std::uint64_t address) const noexcept {
    auto at = waiting_.upper_bound(address);
    if (at == waiting_.begin())
        return waiting_.end();
    --at;
    return address - at->first < at->second.bytes ? at : waiting_.end();
}

LazyPageMap::State LazyPageMap::stateOf(std::uint64_t address) const noexcept {
    if (find(address) != waiting_.end())
        return State::Waiting;
    for (const auto& [number, pieces] : requests_)
        for (const Piece& piece : pieces)
            if (address >= piece.at && address - piece.at < piece.bytes)
                return State::Coming;
    return State::Unknown;
}

LazyPageMap::Request LazyPageMap::take(const Piece& piece) {
    cutWaiting(piece.at, piece.bytes);
    cursor_ = piece.at + piece.bytes;
    const std::uint64_t number = nextRequest_++;
    requests_[number] = {piece};
    return {number, piece.source, piece.bytes};
}

std::optional<Piece> LazyPageMap::waitingAt(std::uint64_t address, std::uint64_t most) const {
    const auto found = find(address);
    if (found == waiting_.end())
        return std::nullopt;
    const std::uint64_t before = address - found->first;
    return Piece{address, std::min(most, found->second.bytes - before), found->second.source + before};
}

std::optional<Piece> LazyPageMap::waitingFrom(std::uint64_t address, std::uint64_t most) const {
    if (auto here = waitingAt(address, most))
        return here;
    const auto next = waiting_.lower_bound(address);
    if (next == waiting_.end())
        return std::nullopt;
    return waitingAt(next->first, most);
}

std::optional<LazyPageMap::Request> LazyPageMap::takeAt(std::uint64_t address, std::uint64_t most) {
    const std::uint64_t page = address & ~(kImagePageSize - 1);
    const auto found = find(page);
    if (found == waiting_.end())
        return std::nullopt;
    const std::uint64_t before = page - found->first;
    return take({page, std::min(most, found->second.bytes - before), found->second.source + before});
}

std::optional<LazyPageMap::Request> LazyPageMap::takeNext(std::uint64_t most) {
    if (waiting_.empty())
        return std::nullopt;
    if (auto here = takeAt(cursor_, most))
        return here;
    auto next = waiting_.lower_bound(cursor_);
    if (next == waiting_.end())
        next = waiting_.begin();
    return take({next->first, std::min(most, next->second.bytes), next->second.source});
}

std::vector<Piece> LazyPageMap::placesOf(std::uint64_t request) const {
    const auto found = requests_.find(request);
    return found == requests_.end() ? std::vector<Piece>() : found->second;
}

void LazyPageMap::arrived(std::uint64_t request, std::uint64_t at, std::uint64_t bytes) {
    if (const auto found = requests_.find(request); found != requests_.end())
        cut(found->second, at, bytes);
}

std::vector<Piece> LazyPageMap::cutWaiting(std::uint64_t start, std::uint64_t bytes) {
    std::vector<Piece> taken;
    const std::uint64_t end = start + bytes;
    auto at = waiting_.upper_bound(start);
    if (at != waiting_.begin())
        --at;
    while (at != waiting_.end() && at->first < end) {
        const SplitPiece parts = divide({at->first, at->second.bytes, at->second.source}, start, end);
        if (parts.inside.bytes == 0) {
            ++at;
            continue;
        }
        taken.push_back(parts.inside);
        at = waiting_.erase(at);
        for (const Piece& part : {parts.before, parts.behind})
            if (part.bytes != 0)
                at = std::next(waiting_.emplace(part.at, Waiting{part.bytes, part.source}).first);
    }
    return taken;
}

void LazyPageMap::forget(std::uint64_t start, std::uint64_t bytes) {
    cutWaiting(start, bytes);
    for (auto& [number, pieces] : requests_)
        cut(pieces, start, bytes);
}

void LazyPageMap::move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    const auto shift = [&](Piece piece) {
        piece.at = piece.at - from + to;
        return piece;
    };
    const std::vector<Piece> waiting = cutWaiting(from, bytes);
    std::vector<std::pair<std::vector<Piece>*, std::vector<Piece>>> coming;
    for (auto& [number, pieces] : requests_)
        coming.emplace_back(&pieces, cut(pieces, from, bytes));
    forget(to, bytes);
    for (const Piece& piece : waiting)
        add(shift(piece));
    for (auto& [pieces, moved] : coming)
        for (const Piece& piece : moved)
            pieces->push_back(shift(piece));
}

LazyPageMap LazyPageMap::fork() const {
    LazyPageMap child;
    child.waiting_ = waiting_;
    child.cursor_ = cursor_;
    for (const auto& [number, pieces] : requests_)
        for (const Piece& piece : pieces)
            child.add(piece);
    return child;
}

void LazyPageMap::clear() {
    waiting_.clear();
    for (auto& [number, pieces] : requests_)
        pieces.clear();
}

std::uint64_t LazyPageMap::waitingBytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& [at, waiting] : waiting_)
        bytes += waiting.bytes;
    return bytes;
}

}  // namespace criu::memory
