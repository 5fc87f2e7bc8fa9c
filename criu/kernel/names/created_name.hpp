// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/names/folder_record.hpp"

/// Functions for names in file systems that criu creates and removes. Paths come from images, and a damaged image may
/// name a file that criu didn't create. So criu removes a name only if it still refers to the inode that criu created.
namespace criu {
class Journal;
}

namespace criu::kernel {

/// Makes criu record names in a journal, so that `criu rescue` can remove them after a SIGKILL of criu. Applies to
/// later CreatedName(path) objects of this process and of its later children. `journal`: null ends the recording.
void recordCreatedNames(Journal* journal) noexcept;

/// Scope in which the root directory of the process is another one (chroot(2)). Names in the journal then have paths of
/// the root directory before, because `criu rescue` has that one. At most one scope exists.
class RecordedRoot {
public:
    /// `root`: the new root directory, open. Call it before the process changes its root directory.
    explicit RecordedRoot(int root) noexcept;
    ~RecordedRoot();
    RecordedRoot(const RecordedRoot&) = delete;
    RecordedRoot& operator=(const RecordedRoot&) = delete;
};

/// Name of a new file: an open directory and the last component of a path. The creating functions throw Error if the
/// name exists. The destructor removes the created file.
class CreatedName {
public:
    CreatedName() = default;
    /// Opens the directory that contains the last component of `path`, by openDirectory(). If `path` is relative, it
    /// begins at the directory `base`. Throws Error.
    explicit CreatedName(const std::string& path, int base = kCurrentDirectory);
    /// Makes the object for a path below a directory. The path must contain no symbolic link (openBelow()). Isn't
    /// recorded, because most of these directories end with the tree.
    static CreatedName below(int directory, const std::string& path);
    /// Makes the object for another name in the same directory. Is recorded if this object is.
    [[nodiscard]] CreatedName beside(const std::string& name) const;
    ~CreatedName() { remove(); }
    CreatedName(CreatedName&& other) noexcept;
    CreatedName& operator=(CreatedName&& other) noexcept;

    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    /// Returns the last component of the path.
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
    [[nodiscard]] bool exists() const noexcept { return created_; }

    /// Creates a regular file with mode 0600, and opens it for `access` (O_WRONLY or O_RDWR). Throws Error.
    UniqueFd createFile(int access);
    /// Creates a directory with mode 0700. Returns an O_PATH descriptor, because the directory belongs to the effective
    /// user, and the caller may need changeOwner(). All create functions throw Error, for instance if another process
    /// has replaced the new file.
    UniqueFd createDirectory();
    /// Creates a FIFO, socket or device with mode 0600. `type` is S_IFIFO, S_IFSOCK, S_IFCHR or S_IFBLK.
    UniqueFd createNode(mode_t type, dev_t device = 0);
    UniqueFd createSymbolicLink(const std::string& target);
    /// Makes this name a hard link to an open file; an O_PATH descriptor suffices. Returns 0 or the errno.
    int link(int file) noexcept;
    /// Records in the journal that the caller is about to create a file of this type (S_IFMT) by a call of its own.
    void announceFile(mode_t type) const noexcept;
    /// Records in the journal that the caller is about to make this name a hard link to the open file `file`.
    void announceLink(int file) const noexcept;
    /// Records that the caller has created the file by a call that returns no descriptor. Requires that no other user
    /// has write permission on the directory.
    void noteCreated() noexcept;
    /// Records that the caller made this name a hard link to the open file `file`.
    void noteCreated(int file) noexcept;
    /// Makes the object remove the file by another descriptor of the same directory, for instance one of a mount that
    /// allows writes.
    void removeBy(UniqueFd directory) noexcept { removal_ = std::move(directory); }
    /// Renames the file to `to`. Afterwards the object `to` removes it. Returns 0 or the errno: EEXIST if the name `to`
    /// exists.
    int moveTo(CreatedName& to) noexcept;

    /// Opens the file by this name (O_PATH). Throws Error if the name now refers to another file.
    [[nodiscard]] UniqueFd open() const;
    /// Removes the file. Returns the result of removeIfSame(), or 0 if no file was created.
    int remove() noexcept;
    /// Keeps the file: the destructor doesn't remove it.
    void release() noexcept;

private:
    static constexpr int kCurrentDirectory = -100;  // AT_FDCWD

    UniqueFd claim(mode_t type, dev_t device);
    int renameTo(const CreatedName& to) const noexcept;
    int recordFailure(int result) const noexcept;
    void recordName(const Inode& inode) const noexcept;
    void recordEnd() const noexcept;

    UniqueFd directory_;
    UniqueFd removal_;  ///< directory by which remove() works, if it isn't directory_
    std::string name_;
    std::optional<FolderRecord> folder_;  ///< set if criu records this name
    Inode inode_;
    bool created_ = false;
};

/// Directories that criu has created. The destructor removes them.
class CreatedDirectories {
public:
    CreatedDirectories() = default;
    ~CreatedDirectories() { remove(); }
    CreatedDirectories(CreatedDirectories&&) noexcept = default;
    CreatedDirectories& operator=(CreatedDirectories&&) = delete;

    /// Creates `directory` and its missing parents with mode 0700. Throws Error; the destructor removes even the
    /// directories that were created before the error.
    void make(const std::string& directory);
    /// Removes the directories, innermost first.
    void remove() noexcept;

private:
    std::vector<CreatedName> made_;
};

}  // namespace criu::kernel
