// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mount.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/namespaces/mount/mount_restore.hpp"

namespace criu::namespaces {
namespace {

/// Restore of peer groups, one after the other: the group of a master precedes the groups of its slaves.
class Propagation {
public:
    Propagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf)
        : mounts_(mounts), made_(made), outer_(outer), wholeOf_(wholeOf) {
        for (const Mount* const mount : mounts_)
            if (mount->shared != 0)
                groups_[mount->shared].members.push_back(mount);
    }

    void restore() {
        for (auto& [number, group] : groups_)
            makeGroup(group);
        for (const Mount* const mount : mounts_)
            if (mount->shared == 0 && mount->master != 0) {
                const ErrorContext context([&] { return mount->describe(); });
                follow(*mount);
            }
        for (const Mount* const mount : mounts_)
            if (mount->unbindable)
                kernel::setPropagation(fdOf(*mount), MS_UNBINDABLE);
    }

private:
    [[nodiscard]] int fdOf(const Mount& mount) const { return made_.at(mount.id).get(); }

    /// Returns true if the mount was a peer of an external mount, and so becomes its peer again.
    [[nodiscard]] bool isSharedOutside(const Mount& mount) const { return outer_.contains(mount.id); }

    /// Peer group of mounts.
    struct Group {
        std::vector<const Mount*> members;
        /// Member that shows all directories that the other members show; null if there is no such member.
        const Mount* covering = nullptr;
        UniqueFd widest;  ///< mount that shows all directories of the members; used if `covering` is null
        bool begun = false;
    };

    void makeGroup(Group& group) {
        if (std::exchange(group.begun, true))
            return;
        // The other members join the group by this member: a mount can join only the group of a mount that shows all
        // that it shows itself.
        group.covering = coveringOf(group.members);
        const Mount& first = group.covering != nullptr ? *group.covering : *group.members.front();
        const ErrorContext context([&] { return first.describe(); });
        if (group.covering == nullptr)
            group.widest = wholeOf_(first);
        const int leader = leaderOf(group);
        if (isSharedOutside(first)) {
            kernel::joinPropagation(outer_.at(first.id).get(), leader);
        } else {
            if (first.master != 0)
                setMasterFrom(first, leader);
            kernel::setPropagation(leader, MS_SHARED);
        }
        for (const Mount* const member : group.members)
            if (fdOf(*member) != leader)
                kernel::joinPropagation(isSharedOutside(*member) ? outer_.at(member->id).get() : leader, fdOf(*member));
    }

    /// Returns the member with the shortest root if it covers all other members. Returns null if there is no such
    /// member.
    static const Mount* coveringOf(const std::vector<const Mount*>& members) {
        const Mount* shortest = nullptr;
        for (const Mount* const member : members)
            if (!member->rootDeleted && (shortest == nullptr || member->root.size() < shortest->root.size()))
                shortest = member;
        const bool coversAll =
            shortest != nullptr &&
            std::all_of(members.begin(), members.end(), [&](const Mount* other) { return shortest->covers(*other); });
        return coversAll ? shortest : nullptr;
    }

    [[nodiscard]] int leaderOf(const Group& group) const {
        return group.covering != nullptr ? fdOf(*group.covering) : group.widest.get();
    }

    void follow(const Mount& mount) { setMasterFrom(mount, fdOf(mount)); }

    /// Makes the mount of descriptor `fd` a slave of the dumped master of `mount`.
    void setMasterFrom(const Mount& mount, int fd) {
        const auto master = groups_.find(mount.master);
        if (master == groups_.end()) {  // The master is external; the mount is already its peer or slave.
            kernel::setPropagation(fd, MS_SLAVE);
            return;
        }
        Group& group = master->second;
        makeGroup(group);
        if (group.covering != nullptr && !group.covering->covers(mount))
            fail("none of the mounts it gets events from shows all of {}", mount.root);
        kernel::joinPropagation(leaderOf(group), fd);
        kernel::setPropagation(fd, MS_SLAVE);
    }

    std::span<const Mount* const> mounts_;
    const std::map<int, UniqueFd>& made_;
    const std::map<int, UniqueFd>& outer_;
    const std::function<UniqueFd(const Mount&)>& wholeOf_;
    std::map<int, Group> groups_;
};

}  // namespace

void restorePropagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                        const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf) {
    Propagation(mounts, made, outer, wholeOf).restore();
}

}  // namespace criu::namespaces
