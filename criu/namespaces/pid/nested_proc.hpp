// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_images.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::model {
class NestedPids;
}

namespace criu::namespaces {

/// Whether a path below the root of a proc file system is that of a process, or leads into its directory: what is there
/// depends on the pid namespace.
[[nodiscard]] bool isOfProcess(std::string_view path);

/// Throws Error if mounts of proc file systems that show pid namespaces below that of the tree's root (Mount::pidsOf)
/// lie so that a restore can't exchange them. `trees`: of all mount namespaces.
void requireExchangeable(std::span<const MountTree* const> trees);

/// Mounts of proc file systems that show pid namespaces below that of the tree's root. A proc shows the namespace of
/// who makes it (proc_init_fs_context() in fs/proc/root.c), and the first process of the tree makes all mounts when
/// there are no others yet. So it makes ones of its own namespace in their places, which are exchanged at the end.
class NestedProcs {
public:
    /// Both outlive this object. Throws Error for images that contradict themselves.
    NestedProcs(const MountImages& mounts, const model::NestedPids& nested);

    /// By criu, while all processes stand still. `ids`: how the tree calls groups. Throws Error.
    void exchange(std::span<const ParkedProcess> processes, const model::IdMap& ids);

private:
    void makeSystems(std::span<const ParkedProcess> processes, const model::IdMap& ids);
    void makeMounts(int staging);
    void exchangeIn(const MountTree& tree);
    void exchangeOne(const MountTree& tree, const Mount& mount, int root, int staging);
    void takeOver(const MountTree& tree, const Mount& from, int old);
    void share(const MountTree& tree);

    const MountImages& mounts_;
    std::map<std::uint32_t, const Mount*> systems_;  ///< a mount of all of each, by device
    std::map<std::uint32_t, UniqueFd> made_;         ///< the file systems, mounted nowhere
    std::map<int, UniqueFd> fds_;                    ///< the mounts, by id
    std::map<int, int> leaders_;                     ///< who the members of a peer group join: a mount's id
    std::set<int> shared_;                           ///< mounts that have their peers and masters
};

}  // namespace criu::namespaces
