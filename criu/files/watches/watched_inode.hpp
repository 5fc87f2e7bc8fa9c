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

/// Dump half: finds a path for each, because handles mean nothing on another machine or a fresh tmpfs.
class WatchedInodes {
public:
    explicit WatchedInodes(const PathDump& paths) : paths_(paths) {}

    /// The image of a watched inode. Called when all files were seen. Throws Error if restore couldn't find it again.
    FhEntry* describe(std::uint32_t device, std::uint64_t inode, const std::optional<kernel::FileHandle>& handle,
                      FileDump& dump);

    /// Mounts of the tree's mount namespace.
    const kernel::MountTable& mounts(const FileDump& dump);

private:
    enum class Opened { No, WithoutPath, WithPath };
    struct Lookup {
        Opened result = Opened::No;
        std::string path;
        int mount = 0;              ///< that it was found on
        bool inMemoryOnly = false;  ///< the file system's inodes don't outlive its mount
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

/// What is to be watched again.
struct WatchedFile {
    UniqueFd fd;  ///< O_PATH
    /// Those with which it was opened: what has a path now may be another file than the one that was watched, so it is
    /// to be watched with these rights, too. None: with criu's.
    std::optional<kernel::FileRights> rights;

    /// Has these rights while what it returns lives; null for criu's.
    [[nodiscard]] std::unique_ptr<kernel::FileRightsScope> takeRights() const;
};

/// Restore half: opens inodes again, in one process at one time: mounts are looked at once.
class WatchedOpener {
public:
    /// `users`: PlacedFiles::usersOf() whoever watches.
    WatchedOpener(const PathRemaps& remaps, std::vector<kernel::FileRights> users, const kernel::Usernsd* usernsd)
        : remaps_(remaps), users_(std::move(users)), usernsd_(usernsd) {}

    /// The deleted file brought back by the images, else by path, else by handle.
    WatchedFile open(std::uint32_t device, std::uint64_t inode, const FhEntry& handle);
    /// What has this path. Throws Error if those who watch may not read it by themselves, unless nobody but root can
    /// have put it there.
    WatchedFile openPath(const std::string& path);

private:
    UniqueFd openByHandle(std::uint32_t device, const FhEntry& handle);
    WatchedFile openPath(const std::string& path, std::uint64_t inode, const FhEntry* handle);

    const PathRemaps& remaps_;
    std::vector<kernel::FileRights> users_;
    const kernel::Usernsd* usernsd_;
    std::optional<kernel::MountTable> mounts_;
};

/// A name of an O_PATH descriptor for calls that want one; leads to the inode itself, even to a symbolic link.
[[nodiscard]] std::string selfPath(const UniqueFd& fd);

}  // namespace criu::files
