// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mountinfo.hpp"

namespace criu::files {

/// Where the paths of the dumped processes begin: at the root of their mount namespace, which may be another than
/// criu's. The kernel shows the paths of their files from there.
class TreeRoot {
public:
    /// That of criu.
    TreeRoot() = default;
    /// `root`: a descriptor of the directory; `mounts`: those of the namespace.
    TreeRoot(UniqueFd root, kernel::MountTable mounts);

    /// Whether it is another namespace than criu's.
    [[nodiscard]] bool isOwn() const noexcept { return root_.valid(); }
    /// An absolute path of the tree as criu can use it.
    [[nodiscard]] std::string at(std::string_view path) const { return prefix_ + std::string(path); }
    /// Whether the tree sees a mount. Of criu's own namespace that isn't known, and the answer is yes.
    [[nodiscard]] bool hasMount(int id) const { return !isOwn() || mounts_.find(id) != nullptr; }
    /// All mounts of the tree's own namespace.
    [[nodiscard]] const kernel::MountTable& mounts() const noexcept { return mounts_; }

private:
    UniqueFd root_;
    std::string prefix_;
    kernel::MountTable mounts_{{}};
};

}  // namespace criu::files
