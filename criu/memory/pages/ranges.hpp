// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "criu/base/machine.hpp"

namespace criu::memory {

struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t size() const noexcept { return end - start; }
    friend bool operator==(const Range&, const Range&) = default;
};

/// Set of addresses, stored as ranges that neither overlap nor touch.
class RangeSet {
public:
    void add(Range range) {
        if (range.start >= range.end)
            return;
        auto at = ranges_.upper_bound(range.start);
        if (at != ranges_.begin() && std::prev(at)->second >= range.start)
            --at;
        while (at != ranges_.end() && at->first <= range.end) {
            range.start = std::min(range.start, at->first);
            range.end = std::max(range.end, at->second);
            at = ranges_.erase(at);
        }
        ranges_[range.start] = range.end;
    }

    void remove(Range range) {
        auto at = ranges_.upper_bound(range.start);
        if (at != ranges_.begin() && std::prev(at)->second > range.start)
            --at;
        while (at != ranges_.end() && at->first < range.end) {
            const Range old{at->first, at->second};
            at = ranges_.erase(at);
            if (old.start < range.start)
                ranges_[old.start] = range.start;
            if (old.end > range.end)
                at = std::next(ranges_.emplace(range.end, old.end).first);
        }
    }

    [[nodiscard]] bool overlaps(Range range) const {
        auto at = ranges_.upper_bound(range.start);
        if (at != ranges_.begin() && std::prev(at)->second > range.start)
            return true;
        return at != ranges_.end() && at->first < range.end;
    }

    /// Returns true if the set contains every address of a range.
    [[nodiscard]] bool covers(Range range) const {
        const auto at = ranges_.upper_bound(range.start);
        return at != ranges_.begin() && std::prev(at)->second >= range.end;
    }

    /// Returns all ranges in ascending order.
    [[nodiscard]] std::vector<Range> ranges() const {
        std::vector<Range> all;
        for (const auto& [start, end] : ranges_)
            all.push_back({start, end});
        return all;
    }

    /// Returns the start of the first free range of `size` bytes at or above `from`. Returns nullopt if no such range
    /// ends at or below `limit`.
    [[nodiscard]] std::optional<std::uint64_t> findHole(std::uint64_t size, std::uint64_t from,
                                                        std::uint64_t limit = taskSize()) const {
        std::uint64_t candidate = from;
        for (const auto& [start, end] : ranges_) {
            if (end <= candidate)
                continue;
            if (start > candidate && start - candidate >= size)
                break;
            candidate = std::max(candidate, end);
        }
        if (candidate > limit || limit - candidate < size)
            return std::nullopt;
        return candidate;
    }

    /// Returns the free ranges from address 0 to `limit`.
    [[nodiscard]] std::vector<Range> gaps(std::uint64_t limit = taskSize()) const {
        std::vector<Range> out;
        std::uint64_t at = 0;
        for (const auto& [start, end] : ranges_) {
            if (start > at)
                out.push_back({at, std::min(start, limit)});
            at = std::max(at, end);
            if (at >= limit)
                return out;
        }
        out.push_back({at, limit});
        return out;
    }

private:
    std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace criu::memory
