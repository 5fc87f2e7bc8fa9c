// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix_name.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/procdir.hpp"

namespace criu::sockets {
namespace {

constexpr unsigned long kOpenSocketFile = SIOCPROTOPRIVATE;  // SIOCUNIXFILE of <linux/un.h>
constexpr std::string_view kDeleted = " (deleted)";

std::string_view withoutEnd(std::string_view text) {
    while (!text.empty() && text.back() == '\0')
        text.remove_suffix(1);
    return text;
}

std::string directoryOf(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return {};
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// In which directory bind(2) of the relative `name` made the file at `path`.
std::string bindDirectory(const files::OpenFd& file, std::string_view name, const std::string& path) {
    std::string_view plain = name;
    while (plain.starts_with("./"))
        plain.remove_prefix(2);
    if (path.ends_with(plain) && path.size() > plain.size() && path[path.size() - plain.size() - 1] == '/')
        return path.size() == plain.size() + 1 ? "/" : path.substr(0, path.size() - plain.size() - 1);
    // Dots on the way: try where the process is.
    if (!file.inFlight) {
        const kernel::ProcPid process = kernel::ProcDir().open(file.pid);
        for (const char* const link : {"cwd", "root"}) {
            const std::string directory = process.readLink(link);
            if ((std::filesystem::path(directory) / name).lexically_normal() == path)
                return directory;
        }
    }
    fail("{} is bound to {}, now at {}: from which directory can't be told", file.describe(), name, path);
}

/// Goes to a directory for a moment.
class Excursion {
public:
    explicit Excursion(const std::string& to) {
        if (to.empty())
            return;
        back_.reset(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory"));
        sys(::chdir(to.c_str()), "enter {}", to);
    }
    ~Excursion() {
        if (back_ && ::fchdir(back_.get()) != 0)
            ::abort();  // whatever came next would happen in the wrong place
    }
    Excursion(const Excursion&) = delete;
    Excursion& operator=(const Excursion&) = delete;

private:
    UniqueFd back_;
};

/// Directories made for a name that is to vanish again.
class PassingDirectories {
public:
    explicit PassingDirectories(const std::string& wanted) {
        std::vector<std::string> missing;
        for (std::string at = wanted; !at.empty() && at != "/" && ::access(at.c_str(), F_OK) != 0; at = directoryOf(at))
            missing.push_back(at);
        for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
            sys(::mkdir(at->c_str(), 0700), "create directory {} for a deleted socket", *at);
            made_.push_back(*at);
        }
    }
    ~PassingDirectories() {
        for (auto at = made_.rbegin(); at != made_.rend(); ++at)
            ::rmdir(at->c_str());
    }
    PassingDirectories(const PassingDirectories&) = delete;
    PassingDirectories& operator=(const PassingDirectories&) = delete;

private:
    std::vector<std::string> made_;
};

/// Moves a file out of the way for a moment.
class SetAside {
public:
    explicit SetAside(const std::string& path) : path_(path) {
        struct stat there {};
        if (::lstat(path.c_str(), &there) != 0)
            return;
        aside_ = fmt::format("{}.criu.{}", path, ::getpid());
        sys(::rename(path.c_str(), aside_.c_str()), "move {} to {}", path, aside_);
    }
    ~SetAside() {
        if (!aside_.empty())
            ::rename(aside_.c_str(), path_.c_str());
    }
    SetAside(const SetAside&) = delete;
    SetAside& operator=(const SetAside&) = delete;

private:
    std::string path_;
    std::string aside_;
};

struct Address {
    sockaddr_un value{};
    socklen_t length = 0;

    explicit Address(std::string_view text) {
        if (text.size() > sizeof(value.sun_path))
            fail("the name {} of a unix socket is longer than {} bytes", showAddress(text), sizeof(value.sun_path));
        value.sun_family = AF_UNIX;
        std::memcpy(value.sun_path, text.data(), text.size());
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
    }
    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

UniqueFd bindFile(int fd, const UnixName& name, const std::string& path) {
    const Address address(path);
    if (::bind(fd, address.get(), address.length) != 0) {
        Error error(errno, fmt::format("bind a socket to {}", name.shown()));
        if (error.code() == EADDRINUSE)
            error.addHint("a file of another kind has that name");
        throw error;
    }
    UniqueFd file(sys(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC), "open {}", name.shown()));
    if (name.permissions != nullptr) {
        const FilePermsEntry& wanted = *name.permissions;
        struct stat now {};
        sys(::fstat(file.get(), &now), "stat {}", name.shown());
        if (now.st_uid != wanted.uid || now.st_gid != wanted.gid)
            sys(::lchown(path.c_str(), wanted.uid, wanted.gid), "give {} to {}:{}", name.shown(), wanted.uid,
                wanted.gid);
        if ((now.st_mode & 07777) != (wanted.mode & 07777))
            sys(::chmod(path.c_str(), wanted.mode & 07777), "set mode {:#o} of {}", wanted.mode & 07777, name.shown());
    }
    return file;
}

}  // namespace

std::string showAddress(std::string_view address) {
    std::string text(withoutEnd(address));
    std::replace(text.begin(), text.end(), '\0', '@');
    return text;
}

UnixName UnixName::of(const UnixSkEntry& entry) {
    UnixName name;
    name.text.assign(reinterpret_cast<const char*>(entry.name.data), entry.name.len);
    name.directory = entry.name_dir != nullptr ? entry.name_dir : "";
    name.mount = entry.has_mnt_id != 0 ? entry.mnt_id : 0;
    name.deleted = entry.has_deleted != 0 && entry.deleted != 0;
    name.permissions = entry.file_perms;
    if (name.isPath() && withoutEnd(name.text).find('\0') != std::string_view::npos)
        fail("socket:[{}] has a path with a zero byte in it", entry.ino);
    return name;
}

std::string_view UnixName::address() const {
    return isPath() ? withoutEnd(text) : std::string_view(text);
}

std::string UnixName::shown() const {
    if (isPath() && !directory.empty() && text.front() != '/')
        return fmt::format("{}/{}", directory, showAddress(text));
    return showAddress(text);
}

void dumpPath(const files::OpenFd& file, std::string_view name, UnixSkEntry& out, const files::FileDump& dump,
              Arena& arena) {
    const UniqueFd place(
        sys(::ioctl(file.copy.get(), kOpenSocketFile), "open the file that {} is bound to", file.describe()));
    struct stat stat {};
    sys(::fstat(place.get(), &stat), "stat the file that {} is bound to", file.describe());
    std::string path = kernel::ProcDir().self().readLink(fmt::format("fd/{}", place.get()));
    struct stat there {};
    const files::TreeRoot& tree = dump.treeRoot();
    if (tree.isOwn()) {
        out.has_mnt_id = 1;
        out.mnt_id = kernel::mountIdOf(place.get()).value_or(-1);
    }
    const bool found = ::lstat(tree.at(path, out.mnt_id).c_str(), &there) == 0 && there.st_dev == stat.st_dev &&
                       there.st_ino == stat.st_ino;
    if (!found && path.ends_with(kDeleted)) {
        path.resize(path.size() - kDeleted.size());
        out.has_deleted = 1;
        out.deleted = 1;
    } else if (tree.isOwn() && (!found || tree.isCovered(out.mnt_id))) {
        fail("{} is bound to {}, where another mount lies over it now, which can't be dumped yet", file.describe(),
             path);
    }
    auto& permissions = *arena.make<FilePermsEntry>();
    permissions.mode = stat.st_mode;
    permissions.uid = dump.ids().innerUid(stat.st_uid);
    permissions.gid = dump.ids().innerGid(stat.st_gid);
    out.file_perms = &permissions;
    const std::string_view plain = withoutEnd(name);
    if (!plain.starts_with('/'))
        out.name_dir = arena.string(bindDirectory(file, plain, path));
}

UniqueFd bindName(int fd, const UnixName& name, PathFate fate) {
    if (!name.isPath()) {
        const Address address(name.text);
        sys(::bind(fd, address.get(), address.length), "bind a socket to {}", name.shown());
        return {};
    }
    const std::string path(name.address());
    std::optional<PassingDirectories> base;
    if (fate == PathFate::Removed)
        base.emplace(name.directory);
    const Excursion excursion(name.directory);
    if (fate == PathFate::Kept) {
        // The file outlives the socket: it is what the dumped process left behind.
        struct stat there {};
        if (::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode))
            sys(::unlink(path.c_str()), "remove the stale socket {}", name.shown());
        return bindFile(fd, name, path);
    }
    const PassingDirectories parents(directoryOf(path));
    const SetAside other(path);
    UniqueFd file = bindFile(fd, name, path);
    sys(::unlink(path.c_str()), "remove {}", name.shown());
    return file;
}

void connectName(int fd, const UnixName& name, int path) {
    if (path >= 0) {
        const std::string link = fmt::format("/proc/self/fd/{}", path);
        const Address address(link);
        sys(::connect(fd, address.get(), address.length), "connect to {}", name.shown());
        return;
    }
    const Excursion excursion(name.isPath() ? name.directory : std::string());
    const Address address(name.address());
    sys(::connect(fd, address.get(), address.length), "connect to {}", name.shown());
}

}  // namespace criu::sockets
