// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Overlays (overlayfs of the kernel). Their mount options name the layers, which are directories, by paths in the
/// mount namespace in which the overlay was mounted.
namespace criu::namespaces {

struct Mount;

/// Directory of an overlay.
struct OverlayLayer {
    std::string option;  ///< mount option with this one directory: "lowerdir+", "datadir+", "upperdir" or "workdir"
    std::string path;
    friend bool operator==(const OverlayLayer&, const OverlayLayer&) = default;
};

/// Options of an overlay in mountinfo, after parsing.
struct OverlayOptions {
    std::vector<OverlayLayer> layers;
    std::string others;  ///< options that don't contain directories

    /// Parses the options. Throws Error if a path isn't absolute, or contains a backslash, by which the kernel escapes
    /// characters.
    static OverlayOptions parse(std::string_view options);
};

/// Throws Error if a layer of an overlay isn't a directory below `root` that is reachable without symbolic links. Also
/// throws if the uppermost layer isn't the one that the overlay shows. `overlay`: descriptor of the mount.
void requireLayers(const Mount& mount, int overlay, int root);

/// Mounts an overlay with the options of `mount`, without attaching it. The root directory of the calling process must
/// be the root of the tree's mount namespace, and the tree's other mounts must be attached. criu resolves paths of the
/// options below this root without symbolic links, so no other user can replace a layer. Throws Error.
[[nodiscard]] UniqueFd mountOverlay(const Mount& mount);

}  // namespace criu::namespaces
