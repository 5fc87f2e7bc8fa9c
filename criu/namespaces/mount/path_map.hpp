// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// Map with paths as keys. It quickly finds the values of all directories above a path.
namespace criu::namespaces {

/// Prefix of a path: the path itself or a directory above it.
struct PathPrefix {
    std::size_t size = 0;
    std::uint64_t hash = 0;
};

/// Returns all prefixes of a path, from the root (the empty path) to the path itself. Takes time linear in the length
/// of the path.
[[nodiscard]] std::vector<PathPrefix> prefixesOf(std::string_view path);

/// Map whose key is an owner and a path. The owner is the number of a mount or file system. The time of a lookup
/// doesn't depend on the number of values.
template <typename Value>
class PathMap {
public:
    /// Returns the value of a path. Creates the value if there is none. The text of the path must outlive this object.
    Value& make(std::uint64_t owner, std::string_view path) {
        const PathPrefix whole = prefixesOf(path).back();
        if (Value* const found = find(owner, path, whole); found != nullptr)
            return *found;
        const auto at = entries_.emplace(keyOf(owner, whole.hash), Entry{owner, path.substr(0, whole.size), Value()});
        return at->second.value;
    }

    /// Returns the value of a prefix of the path, or null if there is none.
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
        // Odd constant that distributes small numbers over all bits.
        constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
        return hash ^ (owner * kSpread);
    }

    std::unordered_multimap<std::uint64_t, Entry> entries_;
};

}  // namespace criu::namespaces
