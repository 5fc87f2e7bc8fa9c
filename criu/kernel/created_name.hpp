// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

/// Names in file systems that criu creates and removes. Paths come from images, and a damaged image may name a
/// foreign file. So criu removes a name only while it leads to the inode that criu created.
namespace criu::kernel {

/// Name for a new file: relative to an open directory, created by a call that fails if the name exists. The
/// destructor removes the created file.
class CreatedName {
public:
    CreatedName() = default;
    /// Opens the directory of the last component of `path`, as openDirectory() does. `base`: start of a relative
    /// path. Throws Error.
    explicit CreatedName(const std::string& path, int base = kCurrentDirectory);
    /// Returns the name for a path below a directory that contains no symbolic link (openBelow()).
    static CreatedName below(int directory, const std::string& path);
    ~CreatedName() { remove(); }
    CreatedName(CreatedName&& other) noexcept;
    CreatedName& operator=(CreatedName&& other) noexcept;

    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    /// Returns the last component.
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
    [[nodiscard]] bool exists() const noexcept { return created_; }

    /// Creates a regular file, mode 0600, open for `access` (O_WRONLY or O_RDWR). Throws Error.
    UniqueFd createFile(int access);
    /// Creates a directory, mode 0700. All create functions throw Error, also if another process has replaced the new
    /// file. They return an O_PATH descriptor of it, for instance for changeOwner(): the file belongs to the
    /// effective user.
    UniqueFd createDirectory();
    UniqueFd createNode(mode_t type, dev_t device = 0);  ///< S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK; mode 0600
    UniqueFd createSymbolicLink(const std::string& target);
    /// Makes this name a hard link to an open file; an O_PATH descriptor suffices. Returns 0 or the errno.
    int link(int file) noexcept;
    /// Records that the caller created the file by a call that returns no descriptor. No other user may write to the
    /// directory.
    void noteCreated() noexcept;
    /// Records that the caller made this name a hard link to the open file `file`.
    void noteCreated(int file) noexcept;
    /// Renames the file to `to`, which then owns it. Returns 0 or the errno: EEXIST if the name `to` exists.
    int moveTo(CreatedName& to) noexcept;

    /// Opens the file by this name (O_PATH). Throws Error if another file has the name now.
    [[nodiscard]] UniqueFd open() const;
    /// Removes the file now. Returns the result of removeIfSame(), or 0 if no file was created.
    int remove() noexcept;
    /// Keeps the file: the destructor no longer removes it.
    void release() noexcept { created_ = false; }

private:
    static constexpr int kCurrentDirectory = -100;  // AT_FDCWD

    UniqueFd claim(mode_t type, dev_t device);

    UniqueFd directory_;
    std::string name_;
    Inode inode_;
    bool created_ = false;
};

/// Directories that the destructor removes.
class CreatedDirectories {
public:
    CreatedDirectories() = default;
    ~CreatedDirectories() { remove(); }
    CreatedDirectories(CreatedDirectories&&) noexcept = default;
    CreatedDirectories& operator=(CreatedDirectories&&) = delete;

    /// Creates `directory` and its missing parents, mode 0700. Throws Error; directories created until then remain
    /// owned by this object.
    void make(const std::string& directory);
    /// Removes the directories, innermost first.
    void remove() noexcept;

private:
    std::vector<CreatedName> made_;
};

}  // namespace criu::kernel
