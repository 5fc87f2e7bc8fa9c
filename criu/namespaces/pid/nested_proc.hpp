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

/// True if a path below the root of a proc file system is a process' directory or lies in it. Its content depends on
/// the pid namespace.
[[nodiscard]] bool isOfProcess(std::string_view path);

/// Throws Error if a mount of a nested pid namespace's proc file system (Mount::pidsOf) can't be replaced at its
/// position. `trees`: of all mount namespaces.
void requireExchangeable(std::span<const MountTree* const> trees);

/// Mounts of proc file systems that show nested pid namespaces. A proc file system shows its mounter's pid namespace
/// (proc_init_fs_context() in fs/proc/root.c). The first process of the tree mounts its own while the nested pid
/// namespaces don't exist. They are replaced at the end.
class NestedProcs {
public:
    /// Both outlive this object. Throws Error for inconsistent images.
    NestedProcs(const MountImages& mounts, const model::NestedPids& nested);

    /// In the coordinator, while all processes are frozen: replaces the mounts. `ids`: translates gids of the tree.
    /// Throws Error.
    void exchange(std::span<const ParkedProcess> processes, const model::IdMap& ids);

private:
    void makeSystems(std::span<const ParkedProcess> processes, const model::IdMap& ids);
    void makeMounts(int staging);
    void exchangeIn(const MountTree& tree);
    void exchangeOne(const MountTree& tree, const Mount& mount, int root, int staging);
    void takeOver(const MountTree& tree, const Mount& from, int old);
    void share(const MountTree& tree);

    const MountImages& mounts_;
    std::map<std::uint32_t, const Mount*> systems_;  ///< key: device; value: a mount of the whole file system
    std::map<std::uint32_t, UniqueFd> made_;         ///< detached new file systems, by device
    std::map<int, UniqueFd> fds_;                    ///< new mounts, by id
    std::map<int, int> leaders_;  ///< mounts whose peer group others join: key: group; value: mount id
    std::set<int> shared_;        ///< ids of mounts that have their peers and masters
};

}  // namespace criu::namespaces
