// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/namespaces/mount/autofs_restore.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "criu/namespaces/mount/mount_deleted.hpp"
#include "criu/namespaces/mount/mount_helpers.hpp"
#include "criu/namespaces/mount/mount_images.hpp"
#include "criu/namespaces/mount/mount_sources.hpp"

namespace criu::memory {
class PageSources;
}

namespace criu::namespaces {

struct RestoreNsContext;

/// Makes each mount of the images by itself: anew, from another one, or of what is outside. Until they are put together
/// all lie beside each other, private, in a file system of criu's own, the yard.
class MountStaging {
public:
    /// All arguments outlive this object.
    MountStaging(const MountImages& mounts, const RestoreInputs& inputs, const MountHelpers& helpers);

    /// In criu's own mount namespace, before makeAll(): opens what the tree gets of it.
    void openOutside(kernel::FdStore& store);

    /// Mounts the yard over all else and makes every mount, but for overlays of directories of the tree, and what is
    /// made from these. Throws Error.
    void makeAll();
    /// Such an overlay was made where its layers are in their places: takes it over, and makes what waits for it.
    /// Throws Error.
    void add(const Mount& overlay, UniqueFd fd);
    /// Whether a mount has been made.
    [[nodiscard]] bool has(int id) const { return made_.contains(id); }
    /// Throws Error if a mount couldn't be made because there is nothing to make it from.
    void requireAll() const;

    /// The yard, until leave().
    [[nodiscard]] int fd() const noexcept { return staging_.get(); }
    /// The descriptor of a mount, until forget().
    [[nodiscard]] int made(int id) const { return made_.at(id).get(); }
    [[nodiscard]] const std::map<int, UniqueFd>& all() const noexcept { return made_; }
    /// Peers of mounts of criu's namespace, by id of the mounts that are to join them when all is in its place.
    [[nodiscard]] const std::map<int, UniqueFd>& outer() const noexcept { return outer_; }
    /// Which mount a mount was made from; null if it was made in another way.
    [[nodiscard]] const Mount* sourceOf(const Mount& mount) const;
    /// The first of the mounts that show both of these directories of a file system; null if none does.
    [[nodiscard]] const Mount* showing(std::uint32_t device, const std::string& one, const std::string& other) const;
    /// Whether a file system has got files of the images.
    [[nodiscard]] bool isFilled(std::uint32_t device) const { return filled_.contains(device); }

    /// A private mount of all that the mounts of a file system and peer group show, in the yard.
    [[nodiscard]] UniqueFd makeWhole(const Mount& mount) const;

    /// Nothing is made any more, and all is in its place: the yard, and what was opened outside, are closed, and what
    /// is mounted without a name loses it.
    void leave();
    /// In each process, when all have their files: mounts that it is to be asked by do that from now on.
    void activate(const model::Task& task) const { automounts_.activate(task); }
    /// The mounts are in their places: their descriptors are closed.
    void forget() noexcept { made_.clear(); }

private:
    [[nodiscard]] UniqueFd mountWhereItShows(const Mount& mount, const kernel::FileSystemParts& parts) const;
    [[nodiscard]] bool hasContent(const Mount& mount) const;
    void makePossible();
    bool make(const Mount& mount);
    void place(const Mount& mount, UniqueFd fd);
    [[nodiscard]] UniqueFd takeOutside(const Mount& mount, UniqueFd fd);
    [[nodiscard]] bool makeByPlugin(const Mount& mount);
    [[nodiscard]] UniqueFd makeInside(const Mount& mount);
    [[nodiscard]] UniqueFd makeFileSystem(const Mount& mount);
    void fillFileSystem(const Mount& mount, int directory) const;
    [[nodiscard]] UniqueFd cloneFrom(const Mount& source, const Mount& mount);
    [[nodiscard]] int wholeFor(const Mount& mount);
    void noteMade(const Mount& mount, UniqueFd fd);
    std::string makePlace(std::string name, bool directory) const;
    [[nodiscard]] std::string optionsOf(const Mount& mount) const;

    const MountImages& mounts_;
    const ImageDir& images_;
    const memory::PageSources& pages_;
    const model::Options& options_;
    const MountHelpers& helpers_;
    const RestoreNsContext& surroundings_;
    AutofsRestore automounts_;
    std::map<int, UniqueFd> outside_;  ///< what was opened in criu's namespace, by mount id
    UniqueFd staging_;
    std::vector<const Mount*> waiting_;  ///< for what they are made from
    std::map<int, UniqueFd> made_;       ///< by mount id
    std::map<int, int> madeFrom_;        ///< the ids of those that others were cloned from
    std::map<int, UniqueFd> outer_;
    DeletedRoots deleted_;
    std::optional<MountSources> sources_;                       ///< from makeAll() on
    std::map<std::pair<std::uint32_t, int>, UniqueFd> wholes_;  ///< makeWhole() by device and peer group
    std::string cgroupOptions_;  ///< that cgroup2 has at present: in the first cgroup namespace mounting it sets them
    std::optional<FileArchives> archives_;  ///< if the images have any
    std::set<std::uint32_t> filled_;        ///< file systems with files of the images
};

}  // namespace criu::namespaces
