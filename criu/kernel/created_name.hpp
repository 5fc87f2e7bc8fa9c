// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

/// Names in file systems that criu makes and takes away again. Paths come out of images, and a damaged image may name a
/// file that was never criu's: a name is removed only while it leads to the very inode that was made.
namespace criu::kernel {

/// A name that is to be given to something new: relative to a directory that is held open, by a call that fails when
/// the name is taken. Destruction removes what was made.
class CreatedName {
public:
    CreatedName() = default;
    /// Opens the directory that the last component of `path` lies in, as openDirectory() does. `base`: where a relative
    /// path begins. Throws Error.
    explicit CreatedName(const std::string& path, int base = kCurrentDirectory);
    /// A path below a directory, without any link (openBelow()).
    static CreatedName below(int directory, const std::string& path);
    ~CreatedName() { remove(); }
    CreatedName(CreatedName&& other) noexcept;
    CreatedName& operator=(CreatedName&& other) noexcept;

    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    /// The last component.
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
    [[nodiscard]] bool exists() const noexcept { return created_; }

    /// Makes a regular file, mode 0600, open for `access` (O_WRONLY or O_RDWR). Throws Error.
    UniqueFd createFile(int access);
    /// These return an O_PATH descriptor of what they have made, which belongs to the caller's effective user, for
    /// changeOwner() and its like. They throw Error, also when somebody has put something else there meanwhile.
    UniqueFd createDirectory();                          ///< mode 0700
    UniqueFd createNode(mode_t type, dev_t device = 0);  ///< S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK; mode 0600
    UniqueFd createSymbolicLink(const std::string& target);
    /// Makes it a further name of an open file (O_PATH will do). Returns 0 or the errno.
    int link(int file) noexcept;
    /// The caller has made it by a call that takes a path and no descriptor, in a directory that nobody else may write
    /// to.
    void noteCreated() noexcept;
    /// The caller has made it a further name of an open file.
    void noteCreated(int file) noexcept;
    /// The name becomes `to`, which removes it from then on. Returns 0 or the errno: EEXIST when something has that.
    int moveTo(CreatedName& to) noexcept;

    /// An O_PATH descriptor of it, opened by this name. Throws Error when something else has the name now.
    [[nodiscard]] UniqueFd open() const;
    /// Removes it now. Returns as removeIfSame() does; 0 when nothing had been created.
    int remove() noexcept;
    /// It stays.
    void release() noexcept { created_ = false; }

private:
    static constexpr int kCurrentDirectory = -100;  // AT_FDCWD

    UniqueFd claim(mode_t type, dev_t device);

    UniqueFd directory_;
    std::string name_;
    Inode inode_;
    bool created_ = false;
};

/// Directories made for something that is to vanish again: gone with this object.
class CreatedDirectories {
public:
    CreatedDirectories() = default;
    ~CreatedDirectories() { remove(); }
    CreatedDirectories(CreatedDirectories&&) noexcept = default;
    CreatedDirectories& operator=(CreatedDirectories&&) = delete;

    /// Makes `directory` (mode 0700) and all that is missing above it. Throws Error; what has been made stays until
    /// this object ends.
    void make(const std::string& directory);
    /// Removes them, the innermost first.
    void remove() noexcept;

private:
    std::vector<CreatedName> made_;
};

}  // namespace criu::kernel
