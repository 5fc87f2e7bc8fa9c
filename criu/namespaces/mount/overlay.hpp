// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Overlays (overlayfs of the kernel). Their layers are directories. The mount options name the layers by paths in the
/// mount namespace in which the overlay was mounted.
namespace criu::namespaces {

struct Mount;

/// Directory of an overlay.
struct OverlayLayer {
    /// Mount option that contains only this directory: "lowerdir+", "datadir+", "upperdir" or "workdir".
    std::string option;
    std::string path;
    friend bool operator==(const OverlayLayer&, const OverlayLayer&) = default;
};

/// Options of an overlay in mountinfo, after parsing.
struct OverlayOptions {
    std::vector<OverlayLayer> layers;
    std::string others;  ///< options that don't contain directories

    /// Parses the options. Throws Error if a path isn't absolute, or contains a backslash, because the kernel escapes
    /// characters by backslashes.
    static OverlayOptions parse(std::string_view options);
};

/// Throws Error unless each layer of an overlay is a directory below `root` that is reachable without symbolic links.
/// Throws Error if the overlay shows another uppermost layer than its options name. `overlay`: descriptor of the mount.
void requireLayers(const Mount& mount, int overlay, int root);

/// Overlay that a restore mounts.
struct PlannedOverlay {
    const Mount* mount = nullptr;
    std::span<const Mount> around;  ///< all mounts of its mount namespace
};

/// Returns overlays in an order in which they can be mounted: an overlay comes after the overlays that contain its
/// layers. Otherwise keeps the order. Mount ids don't tell the order, because the kernel uses ids of ended mounts
/// again. Throws Error if options can't be parsed.
[[nodiscard]] std::vector<PlannedOverlay> inOrderOfLayers(const std::vector<PlannedOverlay>& overlays);

/// Mounts an overlay with the options of `mount`, without attaching it. The calling process must have the root of the
/// tree's mount namespace as its root directory. The tree's other mounts must be attached. criu resolves paths of the
/// options below this root without symbolic links, so that no other user can replace a layer. Throws Error.
[[nodiscard]] UniqueFd mountOverlay(const Mount& mount);

}  // namespace criu::namespaces
