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

/// Creator of the mounts of a restore. It creates each mount separately: as a new file system, or as a clone of another
/// mount or of an external mount. All mounts are private. They lie in criu's mount staging until criu attaches them to
/// each other.
class MountStaging {
public:
    /// All arguments must outlive this object.
    MountStaging(const MountImages& mounts, const RestoreInputs& inputs, const MountHelpers& helpers);

    /// Opens the sources of external mounts. Runs in criu's mount namespace and must precede makeAll().
    void openOutside(kernel::FdStore& store);

    /// Mounts the mount staging over "/" and creates all mounts. Doesn't create overlays on directories of the tree,
    /// nor clones of such overlays. Throws Error.
    void makeAll();
    /// Adds an overlay that the caller has mounted when its layers were attached. Then creates the mounts whose source
    /// is this overlay. Throws Error.
    void add(const Mount& overlay, UniqueFd fd);
    /// Returns true if a mount has been created.
    [[nodiscard]] bool has(int id) const { return made_.contains(id); }
    /// Throws Error if a mount wasn't created because its source is missing.
    void requireAll() const;

    /// Returns the descriptor of the mount staging. Valid until leave().
    [[nodiscard]] int fd() const noexcept { return staging_.get(); }
    /// Returns the descriptor of a mount. Valid until forget().
    [[nodiscard]] int made(int id) const { return made_.at(id).get(); }
    [[nodiscard]] const std::map<int, UniqueFd>& all() const noexcept { return made_; }
    /// Returns external peers of mounts. The key is the id of the mount that joins the peer's group after all mounts
    /// are attached.
    [[nodiscard]] const std::map<int, UniqueFd>& outer() const noexcept { return outer_; }
    /// Returns the mount from which a mount was cloned, or null if it isn't a clone.
    [[nodiscard]] const Mount* sourceOf(const Mount& mount) const;
    /// Returns the first mount that shows both directories of a file system, or null if none does.
    [[nodiscard]] const Mount* showing(std::uint32_t device, const std::string& one, const std::string& other) const;
    /// Returns true if criu filled a file system with files of the images.
    [[nodiscard]] bool isFilled(std::uint32_t device) const { return filled_.contains(device); }

    /// Creates a private mount that shows all directories that a peer group's mounts show. `mount`: any mount of the
    /// peer group.
    [[nodiscard]] UniqueFd makeWhole(const Mount& mount) const;

    /// Closes the mount staging and the sources of external mounts. Removes the names of mounted files that were
    /// deleted at the dump. Must follow the attachment of all mounts.
    void leave();
    /// Connects the autofs mounts for which this process is the daemon. Runs in each process after all processes have
    /// their files.
    void activate(const model::Task& task) const { automounts_.activate(task); }
    /// Closes the descriptors of all mounts.
    void forget() noexcept { made_.clear(); }

private:
    [[nodiscard]] UniqueFd mountWhereItShows(const Mount& mount, const kernel::FileSystemParts& parts) const;
    [[nodiscard]] bool hasContent(const Mount& mount) const;
    [[nodiscard]] std::optional<UniqueFd> openContent(const Mount& mount) const;
    [[nodiscard]] FileArchives::Form formOfFiles() const noexcept;
    void countFiles(const RestoreInputs& inputs) const;
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
    std::map<int, UniqueFd> outside_;  ///< clones of external sources in criu's namespace; the key is the mount id
    UniqueFd staging_;
    std::vector<const Mount*> waiting_;  ///< mounts whose sources don't exist yet
    std::map<int, UniqueFd> made_;       ///< descriptors of mounts; the key is the mount id
    std::map<int, int> madeFrom_;        ///< id of the source of each clone; the key is the id of the clone
    std::map<int, UniqueFd> outer_;
    DeletedRoots deleted_;
    std::optional<MountSources> sources_;  ///< set by makeAll()
    /// Results of makeWhole(); the key is device and peer group.
    std::map<std::pair<std::uint32_t, int>, UniqueFd> wholes_;
    /// Options of criu's cgroup2 mount. A new mount repeats them: in the initial cgroup namespace, each mount sets the
    /// options for the complete file system.
    std::string cgroupOptions_;
    std::optional<FileArchives> archives_;  ///< unset if the images contain no archives
    std::set<std::uint32_t> filled_;  ///< device numbers of file systems that criu filled with files of the images
};

}  // namespace criu::namespaces
