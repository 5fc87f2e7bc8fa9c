// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "criu/files/regular.hpp"
#include "criu/files/watches/inode_search.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/usernsd.hpp"
#include "images/fh.hpp"

/// Inodes that inotify and fanotify watch. fdinfo shows their device, inode number and file handle, but no path.
namespace criu::files {

class FileDump;

/// Watched inodes of a dump. The class finds a path for each inode, because a handle isn't valid on another machine or
/// on a new tmpfs.
class WatchedInodes {
public:
    explicit WatchedInodes(const PathDump& paths) : paths_(paths) {}

    /// Returns the image message of a watched inode. Called after all files were dumped. Throws Error if a restore
    /// couldn't find the inode.
    FhEntry* describe(std::uint32_t device, std::uint64_t inode, const std::optional<kernel::FileHandle>& handle,
                      FileDump& dump);

    /// Returns the mounts of the tree's mount namespaces.
    const kernel::MountTable& mounts(const FileDump& dump);

private:
    enum class Opened { No, WithoutPath, WithPath };
    struct Lookup {
        Opened result = Opened::No;
        std::string path;
        int mount = 0;              ///< mount id of the mount on which `path` is
        bool inMemoryOnly = false;  ///< true if the kernel discards all inodes of the file system when it is unmounted
        bool symbolicLink = false;
    };
    struct Root {
        UniqueFd fd;
        bool inMemoryOnly = false;
        int mount = 0;
    };

    Lookup openHandle(std::uint32_t device, const kernel::FileHandle& handle, const FileDump& dump);
    const std::vector<Root>& rootsOf(std::uint32_t device, const FileDump& dump);
    InodeSearch::Limits searchLimits(FileDump& dump);
    std::string search(std::uint32_t device, std::uint64_t inode, bool everywhere, FileDump& dump);

    const PathDump& paths_;
    std::optional<kernel::MountTable> mounts_;
    std::map<std::uint32_t, std::vector<Root>> roots_;
    std::unique_ptr<InodeSearch> search_;
};

/// Opened file on which a restore sets a watch.
struct WatchedFile {
    UniqueFd fd;  ///< O_PATH descriptor
    /// Path rights with which criu opened the file; unset means criu's credentials. criu sets the watch with the same
    /// rights, because the path may lead to another file than the watched one.
    std::optional<kernel::FileRights> rights;

    /// Gives the calling thread the path rights until the result is destroyed. Returns null if `rights` is unset.
    [[nodiscard]] std::unique_ptr<kernel::FileRightsScope> takeRights() const;
};

/// Opener of watched inodes for one restored process. It reads the mounts only once.
class WatchedOpener {
public:
    /// `users`: result of PlacedFiles::usersOf() for the watching file.
    WatchedOpener(const PathRemaps& remaps, std::vector<kernel::FileRights> users, const kernel::Usernsd* usernsd)
        : remaps_(remaps), users_(std::move(users)), usernsd_(usernsd) {}

    /// Opens a watched inode: its restored ghost file, or the file at its path, or its file handle.
    WatchedFile open(std::uint32_t device, std::uint64_t inode, const FhEntry& handle);
    /// Opens a path. Throws Error if a user may not read the file, unless only root can have created the file at this
    /// path.
    WatchedFile openPath(const std::string& path);

private:
    UniqueFd openByHandle(std::uint32_t device, const FhEntry& handle);
    WatchedFile openPath(const std::string& path, std::uint64_t inode, const FhEntry* handle);

    const PathRemaps& remaps_;
    std::vector<kernel::FileRights> users_;
    const kernel::Usernsd* usernsd_;
    std::optional<kernel::MountTable> mounts_;
};

/// Returns a path that leads to the inode of an O_PATH descriptor, even if this is a symbolic link. For calls that need
/// a path.
[[nodiscard]] std::string selfPath(const UniqueFd& fd);

}  // namespace criu::files
