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

/// A directory on a covered mount: the root of the mount or one below it.
struct HiddenDirectory {
    std::string path;  ///< path if no other mount covered it
    std::shared_ptr<const UniqueFd> directory;
};
using HiddenMounts = std::multimap<int, HiddenDirectory>;  ///< key: mount id

/// Key for all mounts without an entry, if these aren't in the calling process' mount namespace.
inline constexpr int kOtherMounts = -1;

/// Links a file at a path on one mount to a path on another. Mounts are given by their image ids; paths begin at the
/// root of each mount's namespace. Throws Error.
using MountLinker = std::function<void(int fromMount, const std::string& from, int toMount, const std::string& to)>;

/// Returns the innermost hidden directory that contains a path on a mount; null if there is none.
[[nodiscard]] const HiddenDirectory* findHidden(const HiddenMounts& mounts, int mount, std::string_view path);

/// Returns a path that criu can use for a path on a hidden mount; empty if the mount has no entry.
[[nodiscard]] std::string pathOnHidden(const HiddenMounts& mounts, int mount, std::string_view path);

/// The root of the dumped processes' paths: that of their mount namespace, which may differ from criu's. The kernel
/// shows paths of their files relative to it.
class TreeRoot {
public:
    /// The root of criu's mount namespace.
    TreeRoot() = default;
    /// A mount namespace.
    struct Space {
        UniqueFd root;  ///< descriptor of the root directory
        kernel::MountTable mounts;
    };
    enum class Mounts {
        Dumped,  ///< images contain the mounts, and files refer to them
        /// images contain all but the first namespace, which is criu's; a restore finds its mounts there
        DumpedButFirst,
        Copied,  ///< copied mounts of criu's namespace, except /proc; a restore finds them there
    };
    /// Proc file systems, each of which shows a pid namespace.
    struct ProcMounts {
        /// Mounts of nested pid namespaces, which a restore creates when all processes are complete.
        std::set<int> late;
        /// Mounts of pid namespaces outside of the tree. After a restore they show the root's.
        std::set<int> others;
        /// Devices, in the kernel's form, of proc file systems that show the root's pid namespace.
        std::set<std::uint32_t> ofRoot;
    };
    /// `spaces`: namespaces of the tree, the root's first.
    TreeRoot(std::vector<Space> spaces, HiddenMounts hidden, Mounts kind = Mounts::Dumped, ProcMounts procs = {});

    /// True if images contain the mounts, so that files refer to mount ids.
    [[nodiscard]] bool isDumped() const noexcept { return isOwn() && kind_ != Mounts::Copied; }
    /// True for a mount of criu's namespace while the tree also has other namespaces.
    [[nodiscard]] bool isOfCriu(int id) const {
        return kind_ == Mounts::DumpedButFirst && spaces_.front().mounts.find(id) != nullptr;
    }
    /// True if the namespace isn't criu's.
    [[nodiscard]] bool isOwn() const noexcept { return !spaces_.empty(); }
    /// Returns a path that criu can use for an absolute path of the tree's root.
    [[nodiscard]] std::string at(std::string_view path) const;
    /// Returns a path that criu can use for a path of a file on this mount.
    [[nodiscard]] std::string at(std::string_view path, int mount) const;
    /// True if the tree sees a mount. Always true in criu's own namespace, whose mounts aren't known.
    [[nodiscard]] bool hasMount(int id) const { return !isOwn() || mounts_.find(id) != nullptr; }
    /// True for a covered mount of the tree.
    [[nodiscard]] bool isCovered(int id) const { return hidden_.contains(id); }
    /// True for a mount of a non-root namespace.
    [[nodiscard]] bool isOfNonRootNs(int id) const {
        return isOwn() && hasMount(id) && spaces_.front().mounts.find(id) == nullptr;
    }
    /// True if a restore creates the mount when all processes have their files.
    [[nodiscard]] bool isLate(int id) const { return procs_.late.contains(id); }
    /// True if a process' file on a proc file system would belong to another process after a restore: the mount would
    /// then show the tree's pid namespace. `device`: of the file system.
    [[nodiscard]] bool changesPids(int mount, std::uint32_t device) const {
        return isDumped() && (hasMount(mount) ? procs_.others.contains(mount) : !procs_.ofRoot.contains(device));
    }
    /// Returns the path of a file on a proc file system as if the whole file system were mounted on /proc.
    [[nodiscard]] std::string pathInProc(std::string_view path, int mount) const;
    /// All mounts of the tree's namespaces.
    [[nodiscard]] const kernel::MountTable& mounts() const noexcept { return mounts_; }

private:
    Mounts kind_ = Mounts::Dumped;
    std::vector<Space> spaces_;
    kernel::MountTable mounts_{{}};
    HiddenMounts hidden_;
    ProcMounts procs_;
};

}  // namespace criu::files
