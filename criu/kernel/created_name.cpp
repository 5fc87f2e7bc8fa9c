// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/created_name.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

std::string lastComponent(const std::string& path) {
    return path.substr(path.rfind('/') + 1);  // rfind() returns npos if there is no slash, and npos + 1 is 0
}

}  // namespace

CreatedName::CreatedName(const std::string& path, int base) : name_(lastComponent(path)) {
    static_assert(kCurrentDirectory == AT_FDCWD);
    const std::string parent = parentDirectory(path);
    directory_ = openDirectory(parent.empty() ? "." : parent, base);
}

CreatedName CreatedName::below(int directory, const std::string& path) {
    CreatedName made;
    made.directory_ = openBelow(directory, parentDirectory(path), O_PATH | O_DIRECTORY);
    made.name_ = lastComponent(path);
    return made;
}

CreatedName::CreatedName(CreatedName&& other) noexcept
    : directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      inode_(other.inode_),
      created_(std::exchange(other.created_, false)) {}

CreatedName& CreatedName::operator=(CreatedName&& other) noexcept {
    if (this != &other) {
        remove();
        directory_ = std::move(other.directory_);
        name_ = std::move(other.name_);
        inode_ = other.inode_;
        created_ = std::exchange(other.created_, false);
    }
    return *this;
}

UniqueFd CreatedName::createFile(int access) {
    UniqueFd file(sys(::openat(directory(), name(), access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
                      "create {}", name_));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat {}", name_);
    inode_ = Inode::of(status);
    created_ = true;
    return file;
}

UniqueFd CreatedName::createDirectory() {
    sys(::mkdirat(directory(), name(), 0700), "create directory {}", name_);
    return claim(S_IFDIR, 0);
}

UniqueFd CreatedName::createNode(mode_t type, dev_t device) {
    sys(::mknodat(directory(), name(), (type & S_IFMT) | 0600, device), "create node {}", name_);
    return claim(type & S_IFMT, device);
}

UniqueFd CreatedName::createSymbolicLink(const std::string& target) {
    sys(::symlinkat(target.c_str(), directory(), name()), "create symbolic link {}", name_);
    return claim(S_IFLNK, 0);
}

/// Opens the new file. Throws Error if another process has replaced the file. If the file belongs to criu's user and
/// has only one name, it is the created file.
UniqueFd CreatedName::claim(mode_t type, dev_t device) {
    UniqueFd made(sys(::openat(directory(), name(), O_PATH | O_NOFOLLOW | O_CLOEXEC), "open {}", name_));
    struct stat status {};
    sys(::fstat(made.get(), &status), "stat {}", name_);
    if ((status.st_mode & S_IFMT) != type || status.st_uid != ::geteuid() ||
        ((type == S_IFCHR || type == S_IFBLK) && status.st_rdev != device) || (type != S_IFDIR && status.st_nlink != 1))
        failWith(EEXIST, "create {}: another process has replaced it", name_);
    inode_ = Inode::of(status);
    created_ = true;
    return made;
}

int CreatedName::link(int file) noexcept {
    // Links the file by its path in /proc, because linkat(2) with AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH.
    constexpr std::size_t kRoom = 32;
    char self[kRoom];
    ::snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    struct stat status {};
    if (::fstat(file, &status) != 0 || ::linkat(AT_FDCWD, self, directory(), name(), AT_SYMLINK_FOLLOW) != 0)
        return errno;
    inode_ = Inode::of(status);
    created_ = true;
    // Records the inode of the new name, because a FUSE server may give each name of a file a different inode number
    // (libfuse without use_ino).
    struct stat made {};
    struct statfs system {};
    if (::fstatfs(file, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC &&
        ::fstatat(directory(), name(), &made, AT_SYMLINK_NOFOLLOW) == 0 && made.st_dev == status.st_dev &&
        (made.st_mode & S_IFMT) == (status.st_mode & S_IFMT))
        inode_ = Inode::of(made);
    return 0;
}

void CreatedName::noteCreated() noexcept {
    struct stat there {};
    created_ = ::fstatat(directory(), name(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    inode_ = Inode::of(there);
}

void CreatedName::noteCreated(int file) noexcept {
    struct stat status {};
    created_ = ::fstat(file, &status) == 0;
    inode_ = Inode::of(status);
}

int CreatedName::moveTo(CreatedName& to) noexcept {
    if (::renameat2(directory(), name(), to.directory(), to.name(), RENAME_NOREPLACE) != 0) {
        if (errno != EINVAL)
            return errno;
        // The file system doesn't support the flags of renameat2(2). Without them, another process can create the name
        // between the two calls below.
        struct stat there {};
        if (::fstatat(to.directory(), to.name(), &there, AT_SYMLINK_NOFOLLOW) == 0)
            return EEXIST;
        if (::renameat(directory(), name(), to.directory(), to.name()) != 0)
            return errno;
    }
    to.inode_ = inode_;
    to.created_ = std::exchange(created_, false);
    return 0;
}

UniqueFd CreatedName::open() const {
    UniqueFd file(sys(::openat(directory(), name(), O_PATH | O_NOFOLLOW | O_CLOEXEC), "open {}", name_));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat {}", name_);
    if (Inode::of(status) != inode_)
        failWith(EEXIST, "open {}: another process has replaced it", name_);
    return file;
}

int CreatedName::remove() noexcept {
    if (!created_)
        return 0;
    const int code = removeIfSame(directory(), name(), inode_);
    created_ = code != 0 && code != ENOENT && code != EEXIST;
    return code;
}

void CreatedDirectories::make(const std::string& directory) {
    std::vector<std::string> missing;
    for (std::string at = directory; !at.empty() && at != "/" && !leadsToFile(at); at = parentDirectory(at))
        missing.push_back(at);
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
        const ErrorContext context([&] { return fmt::format("create directory {} for a deleted file", *at); });
        CreatedName name(*at);
        (void)name.createDirectory();
        made_.push_back(std::move(name));
    }
}

void CreatedDirectories::remove() noexcept {
    while (!made_.empty())
        made_.pop_back();
}

}  // namespace criu::kernel
