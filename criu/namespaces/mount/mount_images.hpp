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

/// Mounts of all mount namespaces of a tree, read from the images.
class MountImages {
public:
    /// Mount namespace with its mounts.
    struct Space {
        std::uint32_t number = 0;  ///< namespace id
        std::vector<Record<MntEntry>> entries;
        MountTree mounts;
    };

    /// Mount of a single terminal of the first namespace's devpts, such as /dev/console.
    struct Terminal {
        std::string path;   ///< path of the terminal in the namespace
        std::string place;  ///< path of the mount point in the namespace
        std::uint64_t flags = 0;
    };

    /// `ofFirst`: namespace id of the root's mount namespace, or 0 if the root was in criu's. `others`: namespace ids
    /// of all other mount namespaces. Throws Error, for instance for mounts that can't be restored.
    MountImages(const ImageDir& images, std::uint32_t ofFirst, std::span<const std::uint32_t> others,
                const model::Options& options);
    MountImages(const MountImages&) = delete;
    MountImages& operator=(const MountImages&) = delete;

    /// Returns the mount namespaces. The first one is the root's, unless the root was in criu's.
    [[nodiscard]] const std::vector<Space>& spaces() const noexcept { return spaces_; }
    /// Returns the root's mount namespace; null if the root was in criu's.
    [[nodiscard]] const Space* main() const noexcept { return hasMain_ ? &spaces_.front() : nullptr; }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept {
        return hasMain_ && &mount == &main()->mounts.root();
    }
    [[nodiscard]] bool isOfMain(const Mount& mount) const noexcept {
        return hasMain_ && main()->mounts.find(mount.id) != nullptr;
    }

    /// Returns all mounts. Mounts of the root's namespace come first, and parents come before their children.
    [[nodiscard]] std::span<const Mount* const> all() const noexcept { return all_; }
    /// Returns a mount, or null if no mount has this id.
    [[nodiscard]] const Mount* find(int id) const;
    /// Returns the namespace of a mount, or null if no mount has this id.
    [[nodiscard]] const Space* spaceOf(int id) const;
    /// Returns the image entries of all mounts of the file system with this device number.
    [[nodiscard]] std::span<const MntEntry* const> entriesOn(std::uint32_t device) const;
    /// Returns the image entry of a mount, which must be in all().
    [[nodiscard]] const MntEntry& entryOf(const Mount& mount) const;
    /// Returns true if the root directory of the namespace has no directory /proc.
    [[nodiscard]] bool lacksProc(const Space& space) const { return entryOf(space.mounts.root()).lacks_proc != 0; }
    /// Returns true if a mount is in this peer group.
    [[nodiscard]] bool hasGroup(int group) const { return groups_.contains(group); }

    /// Returns the mounts of single terminals. all() doesn't contain them, because criu creates them after the
    /// processes' files.
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
