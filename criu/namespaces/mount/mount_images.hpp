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

/// The mounts of all mount namespaces of a tree, from its images.
class MountImages {
public:
    /// A mount namespace.
    struct Space {
        std::uint32_t number = 0;  ///< namespace id
        std::vector<Record<MntEntry>> entries;
        MountTree mounts;
    };

    /// A mount of a single terminal of the first namespace's devpts (/dev/console).
    struct Terminal {
        std::string path;   ///< path of the terminal in the namespace
        std::string place;  ///< mount point
        std::uint64_t flags = 0;
    };

    /// `ofFirst`: namespace id of the first process' namespace; 0: it was in criu's. `others`: all other namespace ids.
    /// Throws Error, also for mounts that can't be restored.
    MountImages(const ImageDir& images, std::uint32_t ofFirst, std::span<const std::uint32_t> others,
                const model::Options& options);
    MountImages(const MountImages&) = delete;
    MountImages& operator=(const MountImages&) = delete;

    /// Begins with the first process' namespace, if that is private.
    [[nodiscard]] const std::vector<Space>& spaces() const noexcept { return spaces_; }
    /// The first process' namespace; null if it is criu's.
    [[nodiscard]] const Space* main() const noexcept { return hasMain_ ? &spaces_.front() : nullptr; }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept {
        return hasMain_ && &mount == &main()->mounts.root();
    }
    [[nodiscard]] bool isOfMain(const Mount& mount) const noexcept {
        return hasMain_ && main()->mounts.find(mount.id) != nullptr;
    }

    /// All mounts, those of the first process' namespace first, parents before children.
    [[nodiscard]] std::span<const Mount* const> all() const noexcept { return all_; }
    /// Null if no mount has this id.
    [[nodiscard]] const Mount* find(int id) const;
    /// Returns the namespace of a mount; null if no mount has this id.
    [[nodiscard]] const Space* spaceOf(int id) const;
    /// Returns the image entries of all mounts of a file system.
    [[nodiscard]] std::span<const MntEntry* const> entriesOn(std::uint32_t device) const;
    /// Returns the image entry of a mount, which is one of all().
    [[nodiscard]] const MntEntry& entryOf(const Mount& mount) const;
    /// True if the namespace's root has no directory /proc.
    [[nodiscard]] bool lacksProc(const Space& space) const { return entryOf(space.mounts.root()).lacks_proc != 0; }
    /// True if a mount is in this peer group.
    [[nodiscard]] bool hasGroup(int group) const { return groups_.contains(group); }

    /// Mounts of single terminals. They come after the processes' files and aren't part of all().
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
