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

/// Inodes that inotify and fanotify watch. fdinfo shows their device, number and file handle, but no path.
namespace criu::files {

class FileDump;

/// Dump half: finds a path for each, because handles aren't valid on another machine or a new tmpfs.
class WatchedInodes {
public:
    explicit WatchedInodes(const PathDump& paths) : paths_(paths) {}

    /// Returns the image of a watched inode. Called when all files were dumped. Throws Error if a restore couldn't find
    /// the inode.
    FhEntry* describe(std::uint32_t device, std::uint64_t inode, const std::optional<kernel::FileHandle>& handle,
                      FileDump& dump);

    /// Mounts of the tree's mount namespace.
    const kernel::MountTable& mounts(const FileDump& dump);

private:
    enum class Opened { No, WithoutPath, WithPath };
    struct Lookup {
        Opened result = Opened::No;
        std::string path;
        int mount = 0;              ///< the path is on this mount
        bool inMemoryOnly = false;  ///< inodes of the file system end with its mount
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

/// A file to watch again.
struct WatchedFile {
    UniqueFd fd;  ///< O_PATH
    /// Path rights with which it was opened. The path may lead to another file than the watched one, so the watch is
    /// set with the same rights. Empty: criu's.
    std::optional<kernel::FileRights> rights;

    /// Takes these rights for the lifetime of the result; null for criu's.
    [[nodiscard]] std::unique_ptr<kernel::FileRightsScope> takeRights() const;
};

/// Restore half: opens inodes again in one process. Reads the mounts once.
class WatchedOpener {
public:
    /// `users`: PlacedFiles::usersOf() the watching file.
    WatchedOpener(const PathRemaps& remaps, std::vector<kernel::FileRights> users, const kernel::Usernsd* usernsd)
        : remaps_(remaps), users_(std::move(users)), usernsd_(usernsd) {}

    /// Opens the restored ghost file, or else by path, or else by handle.
    WatchedFile open(std::uint32_t device, std::uint64_t inode, const FhEntry& handle);
    /// Opens a path. Throws Error if the users may not read the file, unless only root can have put it there.
    WatchedFile openPath(const std::string& path);

private:
    UniqueFd openByHandle(std::uint32_t device, const FhEntry& handle);
    WatchedFile openPath(const std::string& path, std::uint64_t inode, const FhEntry* handle);

    const PathRemaps& remaps_;
    std::vector<kernel::FileRights> users_;
    const kernel::Usernsd* usernsd_;
    std::optional<kernel::MountTable> mounts_;
};

/// Returns a path of an O_PATH descriptor for calls that need one. It leads to the inode itself, even for a symbolic
/// link.
[[nodiscard]] std::string selfPath(const UniqueFd& fd);

}  // namespace criu::files
