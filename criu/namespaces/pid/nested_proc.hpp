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

/// Returns true if a path in a proc file system is the directory of a process or lies below one. Its content depends on
/// the pid namespace.
[[nodiscard]] bool isOfProcess(std::string_view path);

/// Throws Error if criu can't replace a proc mount of a nested pid namespace (Mount::pidsOf). `trees`: mounts of all
/// mount namespaces.
void requireExchangeable(std::span<const MountTree* const> trees);

/// Mounts of proc file systems that show nested pid namespaces. A proc file system shows the pid namespace of the
/// mounting process (proc_init_fs_context() in fs/proc/root.c). Nested pid namespaces don't exist yet when the first
/// process of the tree mounts proc file systems. So all of these show the pid namespace of the first process. At the
/// end, criu replaces these mounts.
class NestedProcs {
public:
    /// Throws Error for inconsistent images. Both arguments must outlive this object.
    NestedProcs(const MountImages& mounts, const model::NestedPids& nested);

    /// Replaces the mounts. Runs in the coordinator while all processes are frozen. `ids`: id map for gids in mount
    /// options. Throws Error.
    void exchange(std::span<const ParkedProcess> processes, const model::IdMap& ids);

private:
    void makeSystems(std::span<const ParkedProcess> processes, const model::IdMap& ids);
    void makeMounts(int staging);
    void exchangeIn(const MountTree& tree);
    void exchangeOne(const MountTree& tree, const Mount& mount, int root, int staging);
    void takeOver(const MountTree& tree, const Mount& from, int old);
    void share(const MountTree& tree);

    const MountImages& mounts_;
    std::map<std::uint32_t, const Mount*> systems_;  ///< mounts of whole file systems; the key is the device number
    std::map<std::uint32_t, UniqueFd> made_;  ///< new file systems that aren't attached; the key is the device number
    std::map<int, UniqueFd> fds_;             ///< new mounts; the key is the mount id
    /// Id of the mount by which other mounts join a peer group; the key is the group.
    std::map<int, int> leaders_;
    std::set<int> shared_;  ///< ids of mounts that have their peers and masters
};

}  // namespace criu::namespaces
