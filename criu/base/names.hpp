// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <string>

#include "criu/base/unique_fd.hpp"

/// Functions for names in file systems. A name is an open directory and the last component of a path.
///
/// Another user may have write permission on a directory. Between two calls with the same path, this user can put a
/// different file or link at the path. So only this file and created_name create, remove, rename or change files by
/// path (rule `names` of scripts/check-layers). They fail if a new file exists already, change files through
/// descriptors, and compare the inode before they remove a name.
namespace criu {

/// Device and inode number, which identify a file as long as the file is open or has a name.
struct Inode {
    dev_t device = 0;
    ino_t number = 0;

    static Inode of(const struct stat& status) noexcept { return {status.st_dev, status.st_ino}; }
    friend bool operator==(const Inode&, const Inode&) = default;
};

/// Opens a path below a directory; other mounts are allowed. Throws Error for symbolic links, "..", and absolute paths.
/// An empty path opens the directory itself with `flags`. With an empty path, `directory` may also be an O_PATH
/// descriptor of a file.
[[nodiscard]] UniqueFd openBelow(int directory, const std::string& path, int flags);

/// Opens a directory (O_PATH) by a path of the images or the kernel. A relative path begins at `base`. Follows a
/// symbolic link only if no user except root and the effective user can have created it, so that other users can't
/// redirect the path. Throws Error.
[[nodiscard]] UniqueFd openDirectory(const std::string& path, int base = -100 /* AT_FDCWD */);

/// Sets of users that criu trusts as owners of directories.
enum class Trusted {
    RootOrSelf,  ///< root and the effective user
    Unmapped,    ///< users without a mapped uid, if criu is in a user namespace
};

/// Opens (O_PATH) the file at a path. Returns an invalid descriptor if an untrusted user can have created any component
/// of the path. Throws Error.
[[nodiscard]] UniqueFd openControlled(const std::string& path, Trusted trusted);

/// Action if a directory with the name exists: throw Error (Refused) or use it (Used).
enum class IfThere { Refused, Used };

/// Creates a directory with mode 0700 in a directory to which only criu writes. Throws Error.
void makeDirectory(int directory, const std::string& name, IfThere there);

/// Creates a directory; the umask applies to `mode`. Returns 0 or the errno.
int tryMakeDirectory(int directory, const char* name, mode_t mode) noexcept;

/// Creates a hard link to a file. Both paths must be below `directory` and contain no symbolic links. Returns an O_PATH
/// descriptor of the directory of the new name. Throws Error.
UniqueFd linkBelow(int directory, const std::string& from, const std::string& to);

/// Renames a file within its directory. Replaces an existing file with the new name. Throws Error.
void renameOver(int directory, const std::string& from, const std::string& to);

/// Creates a symbolic link in a directory. Throws Error.
void makeLink(int directory, const std::string& name, const std::string& target);

/// Changes the owner of a descriptor's file. This and the next two functions accept an O_PATH descriptor, and throw
/// Error.
void changeOwner(int fd, uid_t user, gid_t group);
void changeMode(int fd, mode_t mode);
void changeTimes(int fd, const timespec& accessed, const timespec& modified);

/// Returns the current status of an open file. Throws Error if it isn't the regular file that `seen` describes, because
/// a running process can replace the file between stat(2) and open(2). The size may differ.
struct stat requireSameFile(int file, const struct stat& seen);

/// Removes the last component of a path below an open directory if it refers to `inode`, also if it is a directory.
/// Doesn't follow symbolic links. Returns 0 or the errno: EEXIST if the name refers to another file, ENOENT if the name
/// doesn't exist.
/// Linux can't compare and remove in one call, so another process can replace the file between the two calls.
int removeIfSame(int directory, const char* name, const Inode& inode) noexcept;

/// Removes a name, but not a directory, in a directory to which criu may write. Removes a symbolic link and not its
/// target. Returns 0 or the errno.
int removeFile(int directory, const char* name) noexcept;

/// Creates a regular file in an open directory, and opens it for `access` (O_WRONLY or O_RDWR, and O_APPEND). The file
/// gets the mode `mode`, independent of the umask. Throws Error.
/// A new file replaces a file or symbolic link with this name. The old file isn't truncated, so processes that have it
/// open keep its content.
UniqueFd createReplacing(int directory, const std::string& name, int access, mode_t mode);

/// Opens a regular file that processes lock, and creates it with mode 0600 if it is missing. No other user may have
/// write permission on the directory. Throws Error.
[[nodiscard]] UniqueFd openLockFile(int directory, const std::string& name);

/// Opens the log file at the user's path for appending. A new file with mode 0600 replaces a regular file.
/// If the path is another kind of file (/dev/null, a fifo), opens it unchanged. This also follows a symbolic link that
/// only root or the effective user can have created (/dev/stdout). Throws Error for other links in directories to which
/// other users may write.
UniqueFd createLog(const std::string& path);

/// Returns true if a path leads to a file, and false if a component of the path doesn't exist. Throws Error for other
/// errors, because they don't tell.
[[nodiscard]] bool leadsToFile(const std::string& path);

/// Returns true if users other than root and the effective user can create, remove and rename files in a directory.
[[nodiscard]] bool isWritableByOthers(const struct stat& directory) noexcept;

/// Returns the path without its last component: "/a" for "/a/b", "/" for "/a", and "" for "a".
std::string parentDirectory(const std::string& path);

}  // namespace criu
