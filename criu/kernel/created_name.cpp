// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/created_name.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::kernel {

int removeIfSame(int directory, const char* name, const Inode& inode) noexcept {
    struct stat there {};
    if (::fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (Inode::of(there) != inode)
        return EEXIST;
    return ::unlinkat(directory, name, S_ISDIR(there.st_mode) ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
}

UniqueFd createAnew(int directory, const std::string& name, int access, mode_t mode) {
    const auto create = [&] {
        return UniqueFd(::openat(directory, name.c_str(), access | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    };
    UniqueFd file = create();
    if (!file && errno == EEXIST) {
        struct stat there {};
        sys(::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW), "look up {}", name);
        if (!S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
            failWith(EEXIST, "create {}, where something that is no file has that name", name);
        if (const int code = removeIfSame(directory, name.c_str(), Inode::of(there)); code != 0)
            failWith(code, "replace {}", name);
        file = create();
    }
    if (!file)
        failErrno("create {}", name);
    return file;
}

CreatedName::CreatedName(const std::string& path, int base) {
    static_assert(kCurrentDirectory == AT_FDCWD);
    const std::string parent = parentDirectory(path);
    const char* const directory = parent.empty() ? "." : parent.c_str();
    const std::size_t slash = path.rfind('/');
    name_.assign(path.c_str() + (slash == std::string::npos ? 0 : slash + 1));
    directory_.reset(sys(::openat(base, directory, O_PATH | O_DIRECTORY | O_CLOEXEC), "open directory {}", directory));
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

void CreatedName::noteCreated() noexcept {
    struct stat there {};
    created_ = ::fstatat(directory(), name(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    inode_ = Inode::of(there);
}

int CreatedName::remove() noexcept {
    if (!std::exchange(created_, false))
        return 0;
    return removeIfSame(directory(), name(), inode_);
}

void CreatedDirectories::make(const std::string& directory) {
    std::vector<std::string> missing;
    for (std::string at = directory; !at.empty() && at != "/" && ::access(at.c_str(), F_OK) != 0;
         at = parentDirectory(at))
        missing.push_back(at);
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
        CreatedName name(*at);
        sys(::mkdirat(name.directory(), name.name(), 0700), "create directory {} for a deleted file", *at);
        name.noteCreated();
        made_.push_back(std::move(name));
    }
}

void CreatedDirectories::remove() noexcept {
    while (!made_.empty())
        made_.pop_back();
}

std::string parentDirectory(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return {};
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace criu::kernel
