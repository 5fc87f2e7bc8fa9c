// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <string>

#include "criu/base/unique_fd.hpp"

/// Names in file systems: an open directory, and the last component of a path.
///
/// Other users may write to directories. Between two calls with the same path, another user may put a different file
/// or link there. So only this file and created_name create, remove, rename or change files by path (rule `names` of
/// scripts/check-layers). They create exclusively, change files through descriptors, and compare the inode before
/// they remove a name.
namespace criu {

/// Identifies a file as long as the file is open or has a name.
struct Inode {
    dev_t device = 0;
    ino_t number = 0;

    static Inode of(const struct stat& status) noexcept { return {status.st_dev, status.st_ino}; }
    friend bool operator==(const Inode&, const Inode&) = default;
};

/// Opens a path below a directory, also on other mounts. Symbolic links, ".." and absolute paths are errors. An empty
/// path opens the directory or file itself with `flags`; only then may `directory` be an O_PATH descriptor of a file.
/// Throws Error.
[[nodiscard]] UniqueFd openBelow(int directory, const std::string& path, int flags);

/// Opens a directory (O_PATH) by a path of the images or the kernel. Follows a symbolic link only where only root
/// and the effective user can have created it. So other users can't redirect the path. A relative path begins at
/// `base`. Throws Error.
[[nodiscard]] UniqueFd openDirectory(const std::string& path, int base = -100 /* AT_FDCWD */);

/// Users that criu trusts as owners of directories.
enum class Trusted {
    RootOrSelf,  ///< root and the effective user
    Unmapped,    ///< in a user namespace: users without a mapped uid
};

/// Opens (O_PATH) the file at a path if only trusted users can have created any component; returns an invalid
/// descriptor otherwise. Throws Error.
[[nodiscard]] UniqueFd openControlled(const std::string& path, Trusted trusted);

/// Action if the name exists.
enum class IfThere { Refused, Used };

/// Creates a directory (mode 0700) in a directory that only criu writes to. Throws Error.
void makeDirectory(int directory, const std::string& name, IfThere there);

/// Creates a directory with this mode (and the umask) in a directory. Returns 0 or the errno.
int tryMakeDirectory(int directory, const char* name, mode_t mode) noexcept;

/// Creates a hard link to a file; both paths are below one directory and contain no symbolic links. Throws Error.
void linkBelow(int directory, const std::string& from, const std::string& to);

/// Renames a file within its directory and replaces a file with the new name. Throws Error.
void renameOver(int directory, const std::string& from, const std::string& to);

/// Creates a symbolic link in a directory. Throws Error.
void makeLink(int directory, const std::string& name, const std::string& target);

/// Change the file of a descriptor, which may be an O_PATH descriptor. Throw Error.
void changeOwner(int fd, uid_t user, gid_t group);
void changeMode(int fd, mode_t mode);
void changeTimes(int fd, const timespec& accessed, const timespec& modified);

/// Returns the present status of an open file. Throws Error unless it is the regular file that `seen` describes: a
/// running process may replace the file between stat(2) and open(2). Its size may differ.
struct stat requireSameFile(int file, const struct stat& seen);

/// Removes the last component of a path below an open directory if it refers to `inode`; rmdir(2) removes
/// directories. Doesn't follow symbolic links. Returns 0 or the errno: EEXIST if another file has the name, ENOENT
/// if the name is free. Linux can't compare and remove in one call, so another process may replace the file between
/// both calls.
int removeIfSame(int directory, const char* name, const Inode& inode) noexcept;

/// Removes a name in a directory that criu may write to, unless it is a directory's. Removes a symbolic link itself,
/// never its target. Returns 0 or the errno.
int removeFile(int directory, const char* name) noexcept;

/// Creates a regular file below an open directory and opens it for `access` (O_WRONLY or O_RDWR, O_APPEND). The file
/// gets exactly this mode, independent of the umask. Replaces a file or symbolic link with this name and never
/// truncates it, so processes that have the old file open keep its content. Throws Error.
UniqueFd createReplacing(int directory, const std::string& name, int access, mode_t mode);

/// Opens the log file of the user's path for appending. Replaces a regular file by a new one with mode 0600. Opens
/// other files (/dev/null, a fifo) without change, also through a symbolic link that only root or the effective user
/// can have created (/dev/stdout). Throws Error for other links in directories that other users may write to.
UniqueFd createLog(const std::string& path);

/// True if users other than root and the effective user can create, remove and rename files in a directory.
[[nodiscard]] bool isWritableByOthers(const struct stat& directory) noexcept;

/// Returns the path without its last component: "/a" for "/a/b", "/" for "/a", "" for "a".
std::string parentDirectory(const std::string& path);

}  // namespace criu
