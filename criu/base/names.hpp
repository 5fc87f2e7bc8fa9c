// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <string>

#include "criu/base/unique_fd.hpp"

/// Names in file systems: a directory that is held open, and the last component of a path.
///
/// Directories are everybody's: between two calls that are given the same path, somebody else may have put another file
/// or a link there. So nothing outside of this file and created_name makes, removes, renames or changes what a path
/// leads to (scripts/check-layers, rule `names`, holds everybody to it). What is made is made exclusively, and changed
/// through a descriptor of it; what is removed is compared before.
namespace criu {

/// Which file it is, as long as somebody holds it or it has a name.
struct Inode {
    dev_t device = 0;
    ino_t number = 0;

    static Inode of(const struct stat& status) noexcept { return {status.st_dev, status.st_ino}; }
    friend bool operator==(const Inode&, const Inode&) = default;
};

/// open(2) below a directory, on mounts there too, but never through a symbolic link or out of the directory: ".." is
/// an error, and so is an absolute path. An empty path is the directory or file itself (`flags` may be O_PATH only for
/// those). Throws Error.
[[nodiscard]] UniqueFd openBelow(int directory, const std::string& path, int flags);

/// Opens a directory (O_PATH) by a path that comes out of images or out of the kernel. A symbolic link on the way is
/// followed only where nobody but root, or the effective user, can have put it; so the directory is the one at the path
/// itself as far as other users have a say in that. `base`: where a relative path begins. Throws Error.
[[nodiscard]] UniqueFd openDirectory(const std::string& path, int base = -100 /* AT_FDCWD */);

/// Whose directories are beyond suspicion.
enum class Trusted {
    RootOrSelf,  ///< those of root and of the effective user
    Unmapped,    ///< in a user namespace: those of users that have no number there
};

/// Opens (O_PATH) what a path leads to, if nobody but the trusted can have put anything on the way or at its end; an
/// invalid descriptor otherwise. Throws Error.
[[nodiscard]] UniqueFd openControlled(const std::string& path, Trusted trusted);

/// What to do if something has the name already.
enum class IfThere { Refused, Used };

/// Makes a directory (mode 0700) below one that only criu writes to. Throws Error.
void makeDirectory(int directory, const std::string& name, IfThere there);

/// Makes a directory of this mode (and the umask) below a directory. Returns 0 or the errno.
int tryMakeDirectory(int directory, const char* name, mode_t mode) noexcept;

/// Gives a file a further name; both paths are below one directory, with no symbolic link on the way. Throws Error.
void linkBelow(int directory, const std::string& from, const std::string& to);

/// Gives a file another name in the same directory, in place of what has that. Throws Error.
void renameOver(int directory, const std::string& from, const std::string& to);

/// Makes a symbolic link in a directory. Throws Error.
void makeLink(int directory, const std::string& name, const std::string& target);

/// Changes the file that a descriptor refers to, which may be one of O_PATH. Throw Error.
void changeOwner(int fd, uid_t user, gid_t group);
void changeMode(int fd, mode_t mode);
void changeTimes(int fd, const timespec& accessed, const timespec& modified);

/// Throws Error unless an open file is the regular file that `seen` is of: whoever isn't frozen may exchange files
/// between the look at a name and its open(2). Returns what the file is now; its size may be another.
struct stat requireSameFile(int file, const struct stat& seen);

/// Removes the last component of a path below an open directory (rmdir(2) for directories), if it leads to `inode`
/// (symbolic links are not followed). Returns 0, or the errno: EEXIST when another file has the name, ENOENT when
/// nothing has it. Linux has no call that compares and removes in one step; what is left is the moment between the two
/// calls.
int removeIfSame(int directory, const char* name, const Inode& inode) noexcept;

/// Removes what has the name, a directory excepted; a symbolic link and not what it leads to. For names in directories
/// that criu is to write to. Returns 0 or the errno.
int removeFile(int directory, const char* name) noexcept;

/// Makes a regular file below an open directory, open for `access` (O_WRONLY or O_RDWR, O_APPEND), with exactly this
/// mode, whatever the umask. A file or symbolic link that has the name, an earlier run's, is replaced, never truncated:
/// whoever has it open, or under another name, keeps it. Throws Error.
UniqueFd createReplacing(int directory, const std::string& name, int access, mode_t mode);

/// Opens what messages go to, for appending, as a user names it: a file of mode 0600 that is made anew. What is no file
/// (/dev/null, a fifo) is opened as it is, and so is what a symbolic link leads to that only root or the effective user
/// can have put there (/dev/stdout). Throws Error for other links in directories that others may write to.
UniqueFd createLog(const std::string& path);

/// Whether others than root and the effective user can make, remove and rename what is in a directory.
[[nodiscard]] bool isWritableByOthers(const struct stat& directory) noexcept;

/// "/a" of "/a/b", "/" of "/a", "" of "a".
std::string parentDirectory(const std::string& path);

}  // namespace criu
