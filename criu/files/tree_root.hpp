// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/mountinfo.hpp"

namespace criu::files {

/// Directory on a covered mount: the root of the mount or a directory below it.
struct HiddenDirectory {
    std::string path;  ///< path that would lead to the directory if no other mount covered it
    std::shared_ptr<const UniqueFd> directory;
};
using HiddenMounts = std::multimap<int, HiddenDirectory>;  ///< the key is the mount id

/// Key for all mounts without their own element, if these mounts aren't in the mount namespace of the calling process.
inline constexpr int kOtherMounts = -1;

/// Function that links a file at a path on one mount to a path on another mount. The mounts are given by their mount
/// ids in the images, and the paths from the root of the mount's namespace. Returns an O_PATH descriptor of the
/// directory of the new name on a mount that both share. Throws Error.
using MountLinker = std::function<UniqueFd(int fromMount, const std::string& from, int toMount, const std::string& to)>;

/// Returns the innermost hidden directory that contains a path on a mount, or null if none does.
[[nodiscard]] const HiddenDirectory* findHidden(const HiddenMounts& mounts, int mount, std::string_view path);

/// Returns a path by which criu can reach `path` on a covered mount. Returns an empty path if the mount has no entry in
/// `mounts`.
[[nodiscard]] std::string pathOnHidden(const HiddenMounts& mounts, int mount, std::string_view path);

/// Root directory of the tree's mount namespace, which may differ from criu's. The kernel shows the paths of the tree's
/// files relative to this root.
class TreeRoot {
public:
    /// Creates the root for a tree that is in criu's mount namespace.
    TreeRoot() = default;
    /// Mount namespace of the tree.
    struct Space {
        UniqueFd root;  ///< descriptor of the root directory
        kernel::MountTable mounts;
    };
    enum class Mounts {
        Dumped,  ///< images contain the mounts, and files refer to them
        /// images contain all namespaces except the first, which is criu's; in its place, a restore uses the mounts of
        /// its own namespace
        DumpedButFirst,
        /// Mounts are copies of criu's mounts, except /proc (copied mounts); a restore uses the mounts of its own
        /// namespace.
        Copied,
    };
    /// Proc file systems in the tree's mounts. Each shows one pid namespace.
    struct ProcMounts {
        /// Mounts that show nested pid namespaces. A restore creates them after all processes are complete.
        std::set<int> late;
        /// Mounts that show pid namespaces outside of the tree. After a restore, they show the root's pid namespace.
        std::set<int> others;
        /// Device numbers, in the kernel's form, of proc file systems that show the root's pid namespace.
        std::set<std::uint32_t> ofRoot;
    };
    /// `spaces`: mount namespaces of the tree; the first one is the root's.
    TreeRoot(std::vector<Space> spaces, HiddenMounts hidden, Mounts kind = Mounts::Dumped, ProcMounts procs = {});

    /// Returns true if images contain the mounts, so that file entries contain mount ids.
    [[nodiscard]] bool isDumped() const noexcept { return isOwn() && kind_ != Mounts::Copied; }
    /// Returns true for a mount of criu's namespace, if the tree is in criu's and in other mount namespaces.
    [[nodiscard]] bool isOfCriu(int id) const {
        return kind_ == Mounts::DumpedButFirst && spaces_.front().mounts.find(id) != nullptr;
    }
    /// Returns true if the tree's mount namespace isn't criu's.
    [[nodiscard]] bool isOwn() const noexcept { return !spaces_.empty(); }
    /// Returns a path by which criu can reach an absolute path of the tree.
    [[nodiscard]] std::string at(std::string_view path) const;
    /// Returns a path by which criu can reach a path of a file on a mount.
    [[nodiscard]] std::string at(std::string_view path, int mount) const;
    /// Returns true if a mount is in a mount namespace of the tree. Always returns true if the tree is in criu's
    /// namespace, because this object then doesn't contain the mounts.
    [[nodiscard]] bool hasMount(int id) const { return !isOwn() || mounts_.find(id) != nullptr; }
    /// Returns true for a covered mount of the tree.
    [[nodiscard]] bool isCovered(int id) const { return hidden_.contains(id); }
    /// Returns true for a mount of a non-root mount namespace.
    [[nodiscard]] bool isOfNonRootNs(int id) const {
        return isOwn() && hasMount(id) && spaces_.front().mounts.find(id) == nullptr;
    }
    /// Returns true if a restore creates the mount after all processes have their files.
    [[nodiscard]] bool isLate(int id) const { return procs_.late.contains(id); }
    /// Returns true if a file of a process on this proc mount would belong to another process after a restore: the
    /// mount then shows the tree's pid namespace. `device`: device number of the file system.
    [[nodiscard]] bool changesPids(int mount, std::uint32_t device) const {
        return isDumped() && (hasMount(mount) ? procs_.others.contains(mount) : !procs_.ofRoot.contains(device));
    }
    /// Returns the path that a file on a proc mount would have if the complete proc file system were mounted on /proc.
    [[nodiscard]] std::string pathInProc(std::string_view path, int mount) const;
    /// Returns all mounts of the tree's namespaces.
    [[nodiscard]] const kernel::MountTable& mounts() const noexcept { return mounts_; }

private:
    Mounts kind_ = Mounts::Dumped;
    std::vector<Space> spaces_;
    kernel::MountTable mounts_{{}};
    HiddenMounts hidden_;
    ProcMounts procs_;
};

}  // namespace criu::files
