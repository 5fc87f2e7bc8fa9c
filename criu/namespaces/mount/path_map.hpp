// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// Values by path, for whoever looks for the nearest of them on the way to many paths.
namespace criu::namespaces {

/// A directory on a path, or what the path leads to: the beginning of the path of this size.
struct PathPrefix {
    std::size_t size = 0;
    std::uint64_t hash = 0;
};

/// All that is on a path, from the root, whose path is empty, down to what the path leads to. Takes as long as the path
/// is, not as it has components.
[[nodiscard]] std::vector<PathPrefix> prefixesOf(std::string_view path);

/// Values of paths on several mounts or file systems, which are told apart by a number. How long it takes to find one
/// doesn't grow with their count.
template <typename Value>
class PathMap {
public:
    /// The value of a path, which is made if there is none. The path's text outlives this object.
    Value& make(std::uint64_t owner, std::string_view path) {
        const PathPrefix whole = prefixesOf(path).back();
        if (Value* const found = find(owner, path, whole); found != nullptr)
            return *found;
        const auto at = entries_.emplace(keyOf(owner, whole.hash), Entry{owner, path.substr(0, whole.size), Value()});
        return at->second.value;
    }

    /// That of a directory on the path; null if there is none.
    [[nodiscard]] const Value* find(std::uint64_t owner, std::string_view path, const PathPrefix& prefix) const {
        const auto [begin, end] = entries_.equal_range(keyOf(owner, prefix.hash));
        for (auto at = begin; at != end; ++at)
            if (at->second.owner == owner && at->second.path == path.substr(0, prefix.size))
                return &at->second.value;
        return nullptr;
    }
    [[nodiscard]] Value* find(std::uint64_t owner, std::string_view path, const PathPrefix& prefix) {
        return const_cast<Value*>(std::as_const(*this).find(owner, path, prefix));
    }

private:
    struct Entry {
        std::uint64_t owner;
        std::string_view path;
        Value value;
    };

    static std::uint64_t keyOf(std::uint64_t owner, std::uint64_t hash) noexcept {
        constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // an odd number without a pattern
        return hash ^ (owner * kSpread);
    }

    std::unordered_multimap<std::uint64_t, Entry> entries_;
};

}  // namespace criu::namespaces
