// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/names.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"

namespace criu {
namespace {

/// Returns true if this process is in a user namespace other than the initial one. There, the kernel shows unmapped
/// uids as the overflow uid, and a user with such a uid owns no process of the tree.
bool hasOwnUsers() {
    constexpr std::string_view kAll = "4294967295";
    const UniqueFd file(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> text{};
    const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : -1;
    return length > 0 &&
           std::string_view(text.data(), static_cast<std::size_t>(length)).find(kAll) == std::string_view::npos;
}

bool isTrusted(uid_t user, Trusted trusted) {
    constexpr uid_t kOverflow = 65534;
    return (trusted == Trusted::RootOrSelf && (user == 0 || user == ::geteuid())) ||
           (user == kOverflow && hasOwnUsers());
}

/// Returns true if only trusted users can have created or replaced an entry in a directory.
bool isControlled(const struct stat& directory, const struct stat& entry, Trusted trusted) {
    if (!isTrusted(directory.st_uid, trusted))
        return false;
    const bool group = (directory.st_mode & S_IWGRP) != 0 && directory.st_gid != 0;
    if (!group && (directory.st_mode & S_IWOTH) == 0)
        return true;
    // In a sticky directory, other users can't replace or remove entries that they don't own. The link count must be 1,
    // because another user could create a hard link to a symbolic link of a trusted user.
    return (directory.st_mode & S_ISVTX) != 0 && isTrusted(entry.st_uid, trusted) &&
           (S_ISDIR(entry.st_mode) || entry.st_nlink == 1);
}

struct stat statOf(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "stat fd {}", fd);
    return status;
}

bool isOfProc(int fd) {
    struct statfs system {};
    sys(::fstatfs(fd, &system), "find out the file system of fd {}", fd);
    return system.f_type == PROC_SUPER_MAGIC;
}

std::string targetOf(int link, const struct stat& status) {
    std::string target(std::max<std::size_t>(static_cast<std::size_t>(status.st_size), PATH_MAX), '\0');
    const ssize_t length = sys(::readlinkat(link, "", target.data(), target.size()), "read a symbolic link");
    target.resize(static_cast<std::size_t>(length));
    return target;
}

/// Appends the components of a path in reverse order, because the caller takes them from the end of the vector.
void pushComponents(std::string_view path, std::vector<std::string>& left) {
    while (!path.empty()) {
        const std::size_t slash = path.rfind('/');
        const std::string_view last = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
        if (!last.empty() && last != ".")
            left.emplace_back(last);
        path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
}

constexpr int kPathOnly = O_PATH | O_NOFOLLOW | O_CLOEXEC;

UniqueFd openRoot() {
    return UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
}

/// Resolves a path component by component. Sets `controlled` to false if an untrusted user could replace a component.
/// Throws Error for a symbolic link that an untrusted user may have created.
UniqueFd walk(int base, const std::string& path, Trusted trusted, bool& controlled) {
    constexpr int kMostLinks = 40;  // limit of the kernel (MAXSYMLINKS)
    std::vector<std::string> left;
    pushComponents(path, left);
    UniqueFd at =
        path.starts_with('/')
            ? openRoot()
            : UniqueFd(sys(::openat(base, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open where {} begins", path));
    for (int links = 0; !left.empty();) {
        const std::string name = std::move(left.back());
        left.pop_back();
        UniqueFd next(sys(::openat(at.get(), name.c_str(), kPathOnly), "open {} of {}", name, path));
        const struct stat status = statOf(next.get());
        const bool safe = name == ".." || isControlled(statOf(at.get()), status, trusted);
        controlled = controlled && safe;
        if (S_ISLNK(status.st_mode)) {
            if (!safe || ++links > kMostLinks) {
                Error error(ELOOP, fmt::format("open {}", path));
                error.addHint(fmt::format("{} is a symbolic link that others may have put there", name));
                throw error;
            }
            if (!isOfProc(next.get())) {
                const std::string target = targetOf(next.get(), status);
                pushComponents(target, left);
                if (target.starts_with('/'))
                    at = openRoot();
                continue;
            }
            // Links in /proc refer directly to a file, and their text may be another path. So the kernel follows this
            // link.
            next.reset(sys(::openat(at.get(), name.c_str(), O_PATH | O_CLOEXEC), "open {} of {}", name, path));
        }
        at = std::move(next);
    }
    return at;
}

}  // namespace

UniqueFd openDirectory(const std::string& path, int base) {
    static_assert(AT_FDCWD == -100);
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS;
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, base, path.c_str(), &how, sizeof(how))));
    if (fd)
        return fd;
    if (errno != ELOOP)
        failErrno("open directory {}", path);
    bool controlled = true;
    fd = walk(base, path, Trusted::RootOrSelf, controlled);
    if (!S_ISDIR(statOf(fd.get()).st_mode))
        failWith(ENOTDIR, "open directory {}", path);
    return fd;
}

UniqueFd openControlled(const std::string& path, Trusted trusted) {
    try {
        bool controlled = true;
        UniqueFd fd = walk(AT_FDCWD, path, trusted, controlled);
        return controlled ? std::move(fd) : UniqueFd();
    } catch (const Error& error) {
        if (error.code() == ELOOP)
            return {};
        throw;
    }
}

void makeDirectory(int directory, const std::string& name, IfThere there) {
    if (const int code = tryMakeDirectory(directory, name.c_str(), 0700);
        code != 0 && (code != EEXIST || there == IfThere::Refused))
        failWith(code, "create directory {}", name);
}

int tryMakeDirectory(int directory, const char* name, mode_t mode) noexcept {
    return ::mkdirat(directory, name, mode) == 0 ? 0 : errno;
}

UniqueFd linkBelow(int directory, const std::string& from, const std::string& to) {
    const UniqueFd source = openBelow(directory, parentDirectory(from), O_PATH | O_DIRECTORY);
    UniqueFd target = openBelow(directory, parentDirectory(to), O_PATH | O_DIRECTORY);
    const auto last = [](const std::string& path) { return path.c_str() + (path.rfind('/') + 1); };
    sys(::linkat(source.get(), last(from), target.get(), last(to), 0), "link {} to {}", from, to);
    return target;
}

void renameOver(int directory, const std::string& from, const std::string& to) {
    sys(::renameat(directory, from.c_str(), directory, to.c_str()), "rename {} to {}", from, to);
}

void makeLink(int directory, const std::string& name, const std::string& target) {
    sys(::symlinkat(target.c_str(), directory, name.c_str()), "make the symbolic link {} to {}", name, target);
}

void changeOwner(int fd, uid_t user, gid_t group) {
    sys(::fchownat(fd, "", user, group, AT_EMPTY_PATH), "give it to {}:{}", user, group);
}

void changeMode(int fd, mode_t mode) {
    // fchmod(2) refuses O_PATH descriptors. chmod(2) through this link changes the file of the descriptor.
    const std::string self = fmt::format("/proc/self/fd/{}", fd);
    sys(::chmod(self.c_str(), mode & 07777), "set mode {:#o}", mode & 07777);
}

void changeTimes(int fd, const timespec& accessed, const timespec& modified) {
    const timespec times[2] = {accessed, modified};
    sys(::utimensat(fd, "", times, AT_EMPTY_PATH), "set times");
}

UniqueFd openBelow(int directory, const std::string& path, int flags) {
    if (path.empty())
        return UniqueFd(sys(::fcntl(directory, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a directory"));
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    // Number of attempts, because the kernel returns EAGAIN if a rename happens at the same time.
    constexpr int kTries = 100;
    for (int tries = 1;; ++tries) {
        UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how))));
        if (fd)
            return fd;
        if (errno == EAGAIN && tries < kTries)
            continue;
        Error error(errno, fmt::format("open {} below its directory", path));
        if (error.code() == ELOOP)
            error.addHint("a symbolic link is on the way, which may lead elsewhere");
        throw error;
    }
}

struct stat requireSameFile(int file, const struct stat& seen) {
    struct stat now {};
    sys(::fstat(file, &now), "stat it");
    if (Inode::of(now) != Inode::of(seen) || !S_ISREG(now.st_mode))
        fail("another file has taken its place");
    return now;
}

int removeIfSame(int directory, const char* name, const Inode& inode) noexcept {
    struct stat there {};
    if (::fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (Inode::of(there) != inode)
        return EEXIST;
    return ::unlinkat(directory, name, S_ISDIR(there.st_mode) ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
}

int removeFile(int directory, const char* name) noexcept {
    return ::unlinkat(directory, name, 0) == 0 ? 0 : errno;
}

UniqueFd createReplacing(int directory, const std::string& name, int access, mode_t mode) {
    const auto create = [&] {
        return UniqueFd(::openat(directory, name.c_str(), access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
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
    sys(::fchmod(file.get(), mode), "set mode {:#o} of {}", mode, name);
    return file;
}

UniqueFd openLockFile(int directory, const std::string& name) {
    constexpr mode_t kPrivate = 0600;
    return UniqueFd(
        sys(::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate), "open {}", name));
}

bool leadsToFile(const std::string& path) {
    if (::access(path.c_str(), F_OK) == 0)
        return true;
    if (errno != ENOENT && errno != ENOTDIR && errno != ESRCH)
        failErrno("look at {}", path);
    return false;
}

bool isWritableByOthers(const struct stat& directory) noexcept {
    return (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (directory.st_uid != 0 && directory.st_uid != ::geteuid());
}

UniqueFd createLog(const std::string& path) {
    const std::string parent = parentDirectory(path);
    // rfind() returns npos if there is no slash, and npos + 1 is 0.
    const std::string name = path.substr(path.rfind('/') + 1);
    const UniqueFd directory(sys(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 "open the directory of the log file {}", path));
    struct stat there {};
    const bool exists = ::fstatat(directory.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists || S_ISREG(there.st_mode)) {
        const ErrorContext context([&] { return fmt::format("log file {}", path); });
        return createReplacing(directory.get(), name, O_WRONLY | O_APPEND, 0600);
    }
    struct stat around {};
    sys(::fstat(directory.get(), &around), "stat {}", parent);
    const bool trusted = !isWritableByOthers(around);
    UniqueFd file(sys(::openat(directory.get(), name.c_str(),
                               O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | (trusted ? 0 : O_NOFOLLOW)),
                      "open the log file {}{}", path,
                      trusted ? "" : " (links in a directory of others aren't followed)"));
    sys(::fstat(file.get(), &there), "stat {}", path);
    if (!trusted && S_ISREG(there.st_mode))
        fail("the log file {} was exchanged while it was being opened", path);
    return file;
}

std::string parentDirectory(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return {};
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace criu
