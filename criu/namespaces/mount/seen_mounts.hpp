// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu {
class Log;
}

namespace criu::model {
struct Options;
}

namespace criu::namespaces {

struct SeenTree;

/// Mount namespace, and a process that is in it.
struct SeenNamespace {
    std::uint32_t number = 0;  ///< namespace id
    const kernel::ProcPid* process = nullptr;
};

/// Mount namespace of a dump.
struct SeenMountSpace {
    std::uint32_t number = 0;
    UniqueFd fd;
    UniqueFd root;
    kernel::MountTable table{{}};  ///< mounts as the kernel shows them
    MountTree mounts;
    bool lacksProc = false;  ///< true if the root directory of the namespace has no directory /proc

    /// Removes the unwanted mounts from `mounts` and `table`, except parents of remaining mounts. Returns the removed
    /// ids.
    std::set<int> takeOut(const std::set<int>& unwanted);
};

/// Mount namespaces of a tree, except criu's, with their mounts.
class SeenMounts {
public:
    enum class FirstProcess {
        InItsOwn,  ///< the root's namespace is private, and is the first namespace
        /// The root is in criu's namespace, so that all dumped namespaces are non-root namespaces. The mounts of criu's
        /// namespace will exist at the restore, too.
        WithCriu,
    };

    /// Reads the mounts of all namespaces in `seen`. Throws Error.
    SeenMounts(const model::Options& options, FirstProcess first, std::span<const SeenNamespace> seen,
               const SeenTree& tree, Log& log);

    [[nodiscard]] bool withCriu() const noexcept { return first_ == FirstProcess::WithCriu; }
    [[nodiscard]] std::vector<SeenMountSpace>& spaces() noexcept { return spaces_; }
    [[nodiscard]] const std::vector<SeenMountSpace>& spaces() const noexcept { return spaces_; }
    [[nodiscard]] std::vector<Mount*> all();
    /// Returns the root mount of the tree. The user passes a directory for this mount to the restore. Returns null if
    /// the root is in criu's namespace.
    [[nodiscard]] const Mount* root() const noexcept { return withCriu() ? nullptr : &spaces_.front().mounts.root(); }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept { return &mount == root(); }
    /// Returns true if a mount is on the file system of the tree's root mount.
    [[nodiscard]] bool isOnRoot(const Mount& mount) const noexcept {
        return root() != nullptr && mount.device == root()->device;
    }
    /// Clones the mounts with these ids. Throws Error for a mount that a locked mount covers.
    [[nodiscard]] std::map<int, UniqueFd> openAll(const std::set<int>& wanted) const;
    /// Reads criu's mounts in the tree's cgroup namespace. The kernel shows the root of a cgroup mount relative to the
    /// reader's cgroup namespace. So criu can compare mount tables only if it has read them in the same one.
    [[nodiscard]] kernel::MountTable criusMounts() const;

private:
    [[nodiscard]] SeenMountSpace look(const SeenNamespace& seen, const model::Options& options) const;
    [[nodiscard]] static std::map<int, UniqueFd> openIn(const SeenMountSpace& space, std::set<int> hidden);
    static void takeOutLocked(SeenMountSpace& space, Log& log);

    FirstProcess first_;
    UniqueFd cgroups_;  ///< descriptor of the root's cgroup namespace; invalid if criu is in it
    std::vector<SeenMountSpace> spaces_;
};

}  // namespace criu::namespaces
