// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

/// Returns the nearest directory above two paths, as a part of `one`. An empty text is the root.
[[nodiscard]] std::string_view commonDirectory(std::string_view one, std::string_view other);

/// Tracker of mounts that can be sources of clones. The source of a clone must be on the same file system and show the
/// same directory, or a directory above it (Mount::covers()).
class MountSources {
public:
    /// `mounts` must outlive this object. `isGiven` returns true if a mount needs no other mount as its source.
    MountSources(std::span<const Mount* const> mounts, const std::function<bool(const Mount&)>& isGiven);

    void noteMade(const Mount& mount);

    /// Returns the first existing mount that shows all of a directory, or null if there is none.
    [[nodiscard]] const Mount* find(std::uint32_t device, std::string_view directory) const;
    /// Returns true if another mount that isn't a clone of `mount` will show all that `mount` shows, but doesn't exist
    /// yet.
    [[nodiscard]] bool isAwaited(const Mount& mount) const;
    /// Returns the nearest directory above the roots of all mounts with this device and peer group.
    [[nodiscard]] std::string commonOf(const Mount& mount) const;

private:
    /// State of all mounts whose root is the same directory of a file system.
    struct Place {
        const Mount* made = nullptr;  ///< first mount that exists; null if none does
        std::size_t waiting = 0;      ///< number of mounts that don't exist yet
        std::size_t givenOnes = 0;    ///< number of mounts that don't exist yet and for which isGiven returns true
    };

    std::function<bool(const Mount&)> isGiven_;
    std::unordered_map<int, std::size_t> order_;  ///< positions of mounts in the list; the key is the mount id
    PathMap<Place> places_;                       ///< the key is device and root
    /// Common directories; the key is device and peer group.
    std::map<std::pair<std::uint32_t, int>, std::string> common_;
};

}  // namespace criu::namespaces
