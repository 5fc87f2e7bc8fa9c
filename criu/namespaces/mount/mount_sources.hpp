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

/// The nearest directory above two paths, as a part of the first one's text; empty: the root.
[[nodiscard]] std::string_view commonDirectory(std::string_view one, std::string_view other);

/// From which mounts others can be made while they are made one after the other: from one that shows the same directory
/// of the same file system, or one above it (Mount::covers()).
class MountSources {
public:
    /// `mounts` outlive this object. `isGiven`: of what the mount is exists without any other.
    MountSources(std::span<const Mount* const> mounts, const std::function<bool(const Mount&)>& isGiven);

    void noteMade(const Mount& mount);

    /// The first of those made that show all of a directory; null if there is none.
    [[nodiscard]] const Mount* find(std::uint32_t device, std::string_view directory) const;
    /// Whether a mount that isn't made yet shows all that this one does, and needn't itself be made from this one.
    [[nodiscard]] bool isAwaited(const Mount& mount) const;
    /// The nearest directory above all that mounts of this device and peer group show.
    [[nodiscard]] std::string commonOf(const Mount& mount) const;

private:
    /// Of the mounts that begin at a directory of a file system, which isn't deleted.
    struct Place {
        const Mount* made = nullptr;  ///< the first of those made
        std::size_t waiting = 0;      ///< how many aren't made
        std::size_t givenOnes = 0;    ///< how many of these are given
    };

    std::function<bool(const Mount&)> isGiven_;
    std::unordered_map<int, std::size_t> order_;                   ///< by mount id
    PathMap<Place> places_;                                        ///< by device and root
    std::map<std::pair<std::uint32_t, int>, std::string> common_;  ///< by device and peer group
};

}  // namespace criu::namespaces
