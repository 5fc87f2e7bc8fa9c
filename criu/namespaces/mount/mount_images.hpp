// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "criu/image/record.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu {
class ImageDir;
}

namespace criu::model {
struct Options;
}

namespace criu::namespaces {

/// The mounts of all mount namespaces of a tree as its images have them.
class MountImages {
public:
    /// A namespace.
    struct Space {
        std::uint32_t number = 0;  ///< in images
        std::vector<Record<MntEntry>> entries;
        MountTree mounts;
    };

    /// A terminal of a devpts of the first namespace that is mounted somewhere (/dev/console).
    struct Terminal {
        std::string path;   ///< in the namespace
        std::string place;  ///< where it is mounted
        std::uint64_t flags = 0;
    };

    /// `ofFirst`: the number of the first process' namespace; 0: it was in that of criu. `others`: of all others.
    /// Throws Error, also for mounts that can't be made.
    MountImages(const ImageDir& images, std::uint32_t ofFirst, std::span<const std::uint32_t> others,
                const model::Options& options);
    MountImages(const MountImages&) = delete;
    MountImages& operator=(const MountImages&) = delete;

    /// That of the first process, if it has one, is the first of them.
    [[nodiscard]] const std::vector<Space>& spaces() const noexcept { return spaces_; }
    /// That of the first process; null: that is criu's.
    [[nodiscard]] const Space* main() const noexcept { return hasMain_ ? &spaces_.front() : nullptr; }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept {
        return hasMain_ && &mount == &main()->mounts.root();
    }
    [[nodiscard]] bool isOfMain(const Mount& mount) const noexcept {
        return hasMain_ && main()->mounts.find(mount.id) != nullptr;
    }

    /// All mounts, those of the first process' namespace first, parents before children.
    [[nodiscard]] std::span<const Mount* const> all() const noexcept { return all_; }
    /// Null if there is no mount of this number.
    [[nodiscard]] const Mount* find(int id) const;
    /// The namespace of a mount; null if there is none of this number.
    [[nodiscard]] const Space* spaceOf(int id) const;
    /// What the images say of all mounts of a file system.
    [[nodiscard]] std::span<const MntEntry* const> entriesOn(std::uint32_t device) const;
    /// What the images say of a mount, which is one of all().
    [[nodiscard]] const MntEntry& entryOf(const Mount& mount) const;
    /// Whether the namespace's root has no directory /proc.
    [[nodiscard]] bool lacksProc(const Space& space) const { return entryOf(space.mounts.root()).lacks_proc != 0; }
    /// Whether a mount of this peer group is among them.
    [[nodiscard]] bool hasGroup(int group) const { return groups_.contains(group); }

    /// Terminals exist only as long as a process has them open: so these mounts are none of the others.
    [[nodiscard]] const std::vector<Terminal>& terminals() const noexcept { return terminals_; }

private:
    void takeTerminals();
    void index();
    void requireSources() const;

    bool hasMain_;
    std::vector<Space> spaces_;
    std::vector<Terminal> terminals_;
    std::vector<const Mount*> all_;
    std::unordered_map<int, std::pair<const Mount*, const Space*>> byId_;
    std::map<std::uint32_t, std::vector<const MntEntry*>> entries_;
    std::set<int> groups_;
};

}  // namespace criu::namespaces
