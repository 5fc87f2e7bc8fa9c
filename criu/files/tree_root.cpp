// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/tree_root.hpp"

#include <fmt/format.h>

namespace criu::files {

std::string pathOnHidden(const HiddenMounts& mounts, int mount, std::string_view path) {
    const auto found = mounts.find(mount);
    if (found == mounts.end() || !path.starts_with(found->second.mountPoint))
        return {};
    path.remove_prefix(found->second.mountPoint.size());
    return fmt::format("/proc/self/fd/{}/{}", found->second.root.get(), path);
}

TreeRoot::TreeRoot(UniqueFd root, kernel::MountTable mounts, HiddenMounts hidden)
    : root_(std::move(root)),
      prefix_(fmt::format("/proc/self/fd/{}", root_.get())),
      mounts_(std::move(mounts)),
      hidden_(std::move(hidden)) {}

std::string TreeRoot::at(std::string_view path, int mount) const {
    const std::string hidden = pathOnHidden(hidden_, mount, path);
    return hidden.empty() ? at(path) : hidden;
}

}  // namespace criu::files
