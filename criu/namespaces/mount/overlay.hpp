// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Overlays (overlayfs of the kernel). Their options name their layers: directories by paths of the mount namespace
/// that they were mounted in.
namespace criu::namespaces {

struct Mount;

/// A directory of an overlay.
struct OverlayLayer {
    std::string option;  ///< mount option that takes this one directory: "lowerdir+", "datadir+", "upperdir", "workdir"
    std::string path;
    friend bool operator==(const OverlayLayer&, const OverlayLayer&) = default;
};

/// Parsed options of an overlay, as mountinfo shows them.
struct OverlayOptions {
    std::vector<OverlayLayer> layers;
    std::string others;  ///< options that don't name directories

    /// Throws Error if a path isn't absolute, or contains characters that the kernel may have escaped.
    static OverlayOptions parse(std::string_view options);
};

/// Throws Error unless all layers of an overlay are directories below `root`, reached without symbolic links. The
/// uppermost must be the one that `overlay`, a descriptor of the mount, shows.
void requireLayers(const Mount& mount, int overlay, int root);

/// Mounts an overlay with these options, attached nowhere. The calling process' root is the root of the tree's mount
/// namespace, where the other mounts are in place. Paths of the options are resolved below that root without symbolic
/// links, and no other user can exchange a layer. Throws Error.
[[nodiscard]] UniqueFd mountOverlay(const Mount& mount);

}  // namespace criu::namespaces
