// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Overlays (overlayfs of the kernel). Their options name directories, their layers, by paths of the mount namespace
/// that they were mounted in.
namespace criu::namespaces {

struct Mount;

/// A directory that an overlay is made of.
struct OverlayLayer {
    std::string option;  ///< by which it is given alone: "lowerdir+", "datadir+", "upperdir", "workdir"
    std::string path;
    friend bool operator==(const OverlayLayer&, const OverlayLayer&) = default;
};

/// Options as mountinfo shows them, taken apart.
struct OverlayOptions {
    std::vector<OverlayLayer> layers;
    std::string others;  ///< what doesn't name directories

    /// Throws Error if a path isn't absolute, or has characters that the kernel may have written in another way.
    static OverlayOptions parse(std::string_view options);
};

/// Throws Error unless all layers of an overlay are directories below `root`, with no symbolic link on the way, and the
/// uppermost is what `overlay`, a descriptor of the mount, shows as such.
void requireLayers(const Mount& mount, int overlay, int root);

/// An overlay like this, attached nowhere. The calling process has the root of the tree's mount namespace, where other
/// mounts are in place, as root. What the options name is what is found there below the root with no link on the way;
/// nobody else can exchange it meanwhile. Throws Error.
[[nodiscard]] UniqueFd mountOverlay(const Mount& mount);

}  // namespace criu::namespaces
