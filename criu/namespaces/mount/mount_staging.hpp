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

/// Creates each mount of the images separately: as a new file system, a clone of another mount, or a clone of an
/// external one. All are private and lie in criu's mount staging until they are attached to each other.
class MountStaging {
public:
    /// All arguments outlive this object.
    MountStaging(const MountImages& mounts, const RestoreInputs& inputs, const MountHelpers& helpers);

    /// In criu's mount namespace, before makeAll(): opens the external sources.
    void openOutside(kernel::FdStore& store);

    /// Mounts the mount staging over "/" and creates every mount. Leaves out overlays on directories of the tree, and
    /// clones of these. Throws Error.
    void makeAll();
    /// Takes an overlay that the caller mounted when its layers were in place. Then creates the mounts that wait for
    /// it. Throws Error.
    void add(const Mount& overlay, UniqueFd fd);
    /// True if a mount has been created.
    [[nodiscard]] bool has(int id) const { return made_.contains(id); }
    /// Throws Error if a mount couldn't be created for lack of a source.
    void requireAll() const;

    /// Descriptor of the mount staging, until leave().
    [[nodiscard]] int fd() const noexcept { return staging_.get(); }
    /// Descriptor of a mount, until forget().
    [[nodiscard]] int made(int id) const { return made_.at(id).get(); }
    [[nodiscard]] const std::map<int, UniqueFd>& all() const noexcept { return made_; }
    /// Peers of mounts of criu's namespace, by the id of the mount that joins them when all are attached.
    [[nodiscard]] const std::map<int, UniqueFd>& outer() const noexcept { return outer_; }
    /// Returns the mount that a mount was cloned from; null if it isn't a clone.
    [[nodiscard]] const Mount* sourceOf(const Mount& mount) const;
    /// Returns the first mount that shows both directories of a file system; null if none does.
    [[nodiscard]] const Mount* showing(std::uint32_t device, const std::string& one, const std::string& other) const;
    /// True if a file system got files of the images.
    [[nodiscard]] bool isFilled(std::uint32_t device) const { return filled_.contains(device); }

    /// Creates a private mount that shows everything the mounts of a file system and peer group show.
    [[nodiscard]] UniqueFd makeWhole(const Mount& mount) const;

    /// Called when all mounts are attached. Closes the mount staging and external sources, and deletes the names of
    /// deleted mounted files.
    void leave();
    /// In each process, when all have their files: connects the autofs mounts of which the process is the daemon.
    void activate(const model::Task& task) const { automounts_.activate(task); }
    /// Closes the descriptors of the mounts.
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
    const RestoreNsContext& nsContext_;
    AutofsRestore automounts_;
    std::map<int, UniqueFd> outside_;  ///< sources in criu's namespace, by mount id
    UniqueFd staging_;
    std::vector<const Mount*> waiting_;  ///< mounts whose sources don't exist yet
    std::map<int, UniqueFd> made_;       ///< key: mount id
    std::map<int, int> madeFrom_;        ///< key: id of a clone; value: id of its source
    std::map<int, UniqueFd> outer_;
    DeletedRoots deleted_;
    std::optional<MountSources> sources_;  ///< set by makeAll()
    /// key: device and peer group; value: result of makeWhole()
    std::map<std::pair<std::uint32_t, int>, UniqueFd> wholes_;
    /// present options of cgroup2; a mount in the initial cgroup namespace sets them, so it repeats them
    std::string cgroupOptions_;
    std::optional<FileArchives> archives_;  ///< empty if the images have no archives
    std::set<std::uint32_t> filled_;        ///< devices of file systems with files of the images
};

}  // namespace criu::namespaces
