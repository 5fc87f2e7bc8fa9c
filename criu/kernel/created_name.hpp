// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Names in file systems that criu makes and takes away again.
///
/// Paths come out of images, and directories are everybody's: between making a name and removing it, somebody else may
/// have put another file there, or a damaged image may name a file that was never criu's. So the directory is held
/// open, and a name is removed only while it leads to the very inode that was made. (Linux has no call that compares
/// and removes in one step; what is left is the moment between the two calls.)
namespace criu::kernel {

/// Which file it is, as long as somebody holds it or it has a name.
struct Inode {
    dev_t device = 0;
    ino_t number = 0;

    static Inode of(const struct stat& status) noexcept { return {status.st_dev, status.st_ino}; }
    friend bool operator==(const Inode&, const Inode&) = default;
};

/// Removes the last component of a path below an open directory (rmdir(2) for directories), if it leads to `inode`
/// (symbolic links are not followed). Returns 0, or the errno: EEXIST when another file has the name, ENOENT when
/// nothing has it.
int removeIfSame(int directory, const char* name, const Inode& inode) noexcept;

/// Makes a regular file below an open directory, open for `access` (O_WRONLY or O_RDWR). A file or symbolic link that
/// has the name, an earlier run's, is replaced, never truncated: whoever has it open, or under another name, keeps it.
/// Throws Error.
UniqueFd createAnew(int directory, const std::string& name, int access, mode_t mode);

/// A name that is to be given to something new. Whoever creates it does so relative to directory(), with a call that
/// fails when the name is taken, and calls noteCreated() right after; from then on destruction removes it.
class CreatedName {
public:
    CreatedName() = default;
    /// Opens the directory that the last component of `path` lies in. `base`: where a relative path begins. Throws
    /// Error.
    explicit CreatedName(const std::string& path, int base = kCurrentDirectory);
    ~CreatedName() { remove(); }
    CreatedName(CreatedName&& other) noexcept;
    CreatedName& operator=(CreatedName&& other) noexcept;

    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    /// The last component.
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
    [[nodiscard]] bool exists() const noexcept { return created_; }

    /// The caller has just created it.
    void noteCreated() noexcept;
    /// Removes it now. Returns as removeIfSame() does; 0 when nothing had been created.
    int remove() noexcept;
    /// It stays.
    void release() noexcept { created_ = false; }

private:
    static constexpr int kCurrentDirectory = -100;  // AT_FDCWD

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

/// "/a" of "/a/b", "/" of "/a", "" of "a".
std::string parentDirectory(const std::string& path);

}  // namespace criu::kernel
