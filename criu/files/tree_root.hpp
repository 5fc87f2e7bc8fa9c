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

/// A directory on a mount that no path leads to, because other mounts cover it: the root of the mount, or one below.
struct HiddenDirectory {
    std::string path;  ///< where it would be if nothing covered it
    std::shared_ptr<const UniqueFd> directory;
};
using HiddenMounts = std::multimap<int, HiddenDirectory>;  ///< by mount id

/// Stands for all mounts that aren't named, if they are elsewhere than where the calling process' paths lead.
inline constexpr int kOtherMounts = -1;

/// Gives a file, at a path on one mount, a further name at a path on another; mounts by their ids in the images, paths
/// from the root of each one's namespace. Throws Error.
using MountLinker = std::function<void(int fromMount, const std::string& from, int toMount, const std::string& to)>;

/// The hidden directory that a path on a mount is in or below, the innermost one if there are several; null if no such
/// one is known.
[[nodiscard]] const HiddenDirectory* findHidden(const HiddenMounts& mounts, int mount, std::string_view path);

/// A path on a hidden mount as criu can use it; empty if the mount isn't among these.
[[nodiscard]] std::string pathOnHidden(const HiddenMounts& mounts, int mount, std::string_view path);

/// Where the paths of the dumped processes begin: at the root of their mount namespace, which may be another than
/// criu's. The kernel shows the paths of their files from there.
class TreeRoot {
public:
    /// That of criu.
    TreeRoot() = default;
    /// A mount namespace.
    struct Space {
        UniqueFd root;  ///< a descriptor of the directory
        kernel::MountTable mounts;
    };
    enum class Mounts {
        Dumped,          ///< images have them, and files name theirs
        DumpedButFirst,  ///< the same, but the first namespace is criu's, and a restore has its mounts anyway
        Copied,          ///< of criu's namespace, but for /proc: a restore has what is mounted there
    };
    /// What is known of proc file systems, each of which shows a pid namespace.
    struct ProcMounts {
        /// Mounts that a restore has only when all processes are complete: they show one below that of the tree's root.
        std::set<int> late;
        /// Mounts that a restore makes, but that show the root's then: of one that is none of the tree's.
        std::set<int> others;
        /// Devices, in the kernel's form, of those that show the root's.
        std::set<std::uint32_t> ofRoot;
    };
    /// `spaces`: namespaces of the tree, that of its first process first.
    TreeRoot(std::vector<Space> spaces, HiddenMounts hidden, Mounts kind = Mounts::Dumped, ProcMounts procs = {});

    /// Whether images have the mounts, by whose numbers they say where files are.
    [[nodiscard]] bool isDumped() const noexcept { return isOwn() && kind_ != Mounts::Copied; }
    /// Whether a mount is of criu's namespace, where others aren't.
    [[nodiscard]] bool isOfCriu(int id) const {
        return kind_ == Mounts::DumpedButFirst && spaces_.front().mounts.find(id) != nullptr;
    }
    /// Whether it is another namespace than criu's.
    [[nodiscard]] bool isOwn() const noexcept { return !spaces_.empty(); }
    /// An absolute path of the tree's first process as criu can use it.
    [[nodiscard]] std::string at(std::string_view path) const;
    /// The same for a path of a file on this mount.
    [[nodiscard]] std::string at(std::string_view path, int mount) const;
    /// Whether the tree sees a mount. Of criu's own namespace that isn't known, and the answer is yes.
    [[nodiscard]] bool hasMount(int id) const { return !isOwn() || mounts_.find(id) != nullptr; }
    /// Whether no path leads to a mount of the tree, because others cover it.
    [[nodiscard]] bool isCovered(int id) const { return hidden_.contains(id); }
    /// Whether a mount is of another namespace of the tree than that of its first process.
    [[nodiscard]] bool isOfNonRootNs(int id) const {
        return isOwn() && hasMount(id) && spaces_.front().mounts.find(id) == nullptr;
    }
    /// Whether a restore has a mount only when all processes have their files.
    [[nodiscard]] bool isLate(int id) const { return procs_.late.contains(id); }
    /// Whether a file of a process on a proc file system, by its mount and device, would be that of another after a
    /// restore, because the tree's own pid namespace is shown there then.
    [[nodiscard]] bool changesPids(int mount, std::uint32_t device) const {
        return isDumped() && (hasMount(mount) ? procs_.others.contains(mount) : !procs_.ofRoot.contains(device));
    }
    /// The same path of a file on a proc file system, as if the whole of that were mounted at /proc.
    [[nodiscard]] std::string pathInProc(std::string_view path, int mount) const;
    /// All mounts of the tree's own namespaces.
    [[nodiscard]] const kernel::MountTable& mounts() const noexcept { return mounts_; }

private:
    Mounts kind_ = Mounts::Dumped;
    std::vector<Space> spaces_;
    kernel::MountTable mounts_{{}};
    HiddenMounts hidden_;
    ProcMounts procs_;
};

}  // namespace criu::files
