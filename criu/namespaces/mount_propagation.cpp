// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mount.h>

#include <algorithm>
#include <set>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/namespaces/mount_restore.hpp"

namespace criu::namespaces {
namespace {

/// Peer groups come to life one after the other: those that others get events from first.
class Propagation {
public:
    Propagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf)
        : mounts_(mounts), made_(made), outer_(outer), wholeOf_(wholeOf) {}

    void restore() {
        for (const Mount* const mount : mounts_)
            if (mount->shared != 0)
                makeGroup(mount->shared);
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

    [[nodiscard]] std::vector<const Mount*> membersOf(int group) const {
        std::vector<const Mount*> members;
        for (const Mount* const mount : mounts_)
            if (mount->shared == group)
                members.push_back(mount);
        return members;
    }

    /// It was a peer of a mount outside, and is to be one.
    [[nodiscard]] bool isSharedOutside(const Mount& mount) const { return outer_.contains(mount.id); }

    void makeGroup(int group) {
        if (!begun_.insert(group).second)
            return;
        const std::vector<const Mount*> members = membersOf(group);
        // Others can join only whoever shows all that they do.
        const auto covering = std::find_if(members.begin(), members.end(), [&](const Mount* candidate) {
            return std::all_of(members.begin(), members.end(),
                               [&](const Mount* other) { return candidate->covers(*other); });
        });
        const Mount& first = covering != members.end() ? **covering : *members.front();
        const ErrorContext context([&] { return first.describe(); });
        if (covering == members.end())
            widest_[group] = wholeOf_(first);
        const int leader = covering != members.end() ? fdOf(first) : widest_[group].get();
        if (isSharedOutside(first)) {
            kernel::joinPropagation(outer_.at(first.id).get(), leader);
        } else {
            if (first.master != 0)
                followFrom(first, leader);
            kernel::setPropagation(leader, MS_SHARED);
        }
        for (const Mount* const member : members)
            if (fdOf(*member) != leader)
                kernel::joinPropagation(isSharedOutside(*member) ? outer_.at(member->id).get() : leader, fdOf(*member));
    }

    void follow(const Mount& mount) { followFrom(mount, fdOf(mount)); }

    /// Has a mount, which `fd` refers to, get events from the master that `mount` had.
    void followFrom(const Mount& mount, int fd) {
        const std::vector<const Mount*> masters = membersOf(mount.master);
        if (masters.empty()) {  // it is outside, and the mount is a peer of it or its slave already
            kernel::setPropagation(fd, MS_SLAVE);
            return;
        }
        makeGroup(mount.master);
        int from = -1;
        if (const auto wide = widest_.find(mount.master); wide != widest_.end())
            from = wide->second.get();
        for (const Mount* const master : masters)
            if (from < 0 && master->covers(mount))
                from = fdOf(*master);
        if (from < 0)
            fail("none of the mounts it gets events from shows all of {}", mount.root);
        kernel::joinPropagation(from, fd);
        kernel::setPropagation(fd, MS_SLAVE);
    }

    std::span<const Mount* const> mounts_;
    const std::map<int, UniqueFd>& made_;
    const std::map<int, UniqueFd>& outer_;
    const std::function<UniqueFd(const Mount&)>& wholeOf_;
    std::set<int> begun_;
    std::map<int, UniqueFd> widest_;  ///< where none of a group's mounts shows what all do: one that does
};

}  // namespace

void restorePropagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                        const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf) {
    Propagation(mounts, made, outer, wholeOf).restore();
}

}  // namespace criu::namespaces
