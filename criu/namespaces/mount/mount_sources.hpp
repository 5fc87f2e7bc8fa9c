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

/// Returns the nearest directory above two paths, as a part of the first one's text; empty: the root.
[[nodiscard]] std::string_view commonDirectory(std::string_view one, std::string_view other);

/// Tracks which mounts can be clones of existing ones. The source must show the same directory of the same file system,
/// or one above it (Mount::covers()).
class MountSources {
public:
    /// `mounts` outlive this object. `isGiven`: true if a mount doesn't need another one as its source.
    MountSources(std::span<const Mount* const> mounts, const std::function<bool(const Mount&)>& isGiven);

    void noteMade(const Mount& mount);

    /// Returns the first existing mount that shows all of a directory; null if there is none.
    [[nodiscard]] const Mount* find(std::uint32_t device, std::string_view directory) const;
    /// True if a mount that doesn't exist yet shows everything this one does, and isn't itself to be cloned from this
    /// one.
    [[nodiscard]] bool isAwaited(const Mount& mount) const;
    /// Returns the nearest directory above the roots of all mounts of this device and peer group.
    [[nodiscard]] std::string commonOf(const Mount& mount) const;

private:
    /// State of the mounts whose root is one existing directory of a file system.
    struct Place {
        const Mount* made = nullptr;  ///< the first existing mount
        std::size_t waiting = 0;      ///< number of mounts that don't exist yet
        std::size_t givenOnes = 0;    ///< number of those for which isGiven is true
    };

    std::function<bool(const Mount&)> isGiven_;
    std::unordered_map<int, std::size_t> order_;                   ///< key: mount id
    PathMap<Place> places_;                                        ///< key: device and root
    std::map<std::pair<std::uint32_t, int>, std::string> common_;  ///< key: device and peer group
};

}  // namespace criu::namespaces
