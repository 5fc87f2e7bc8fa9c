// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix/unix_name.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/names.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::sockets {
namespace {

/// Returns the sorted names of a socket file in a directory; no names if criu can't read the directory. `status`:
/// stat(2) result of the file.
std::vector<std::string> namesInDirectory(const std::string& directory, const struct stat& status) {
    std::vector<std::string> names;
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> open(::opendir(directory.c_str()), close);
    if (open == nullptr)
        return names;
    while (const dirent* const entry = ::readdir(open.get())) {
        // Doesn't compare d_ino: on overlayfs, readdir(3) and stat(2) may return different inode numbers.
        if (entry->d_type != DT_SOCK && entry->d_type != DT_UNKNOWN)
            continue;
        struct stat there {};
        if (::fstatat(::dirfd(open.get()), entry->d_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            Inode::of(there) == Inode::of(status))
            names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

constexpr unsigned long kOpenSocketFile = SIOCPROTOPRIVATE;  // SIOCUNIXFILE of <linux/un.h>
constexpr std::string_view kDeleted = " (deleted)";

std::string_view withoutEnd(std::string_view text) {
    while (!text.empty() && text.back() == '\0')
        text.remove_suffix(1);
    return text;
}

/// Returns the directory in which the program has called bind(2) with the relative `name`; `path` is the path of the
/// created file. Returns nothing if the file was renamed, or if the process has changed its working directory.
std::optional<std::string> bindDirectory(const files::OpenFd& file, std::string_view name, const std::string& path) {
    std::string_view plain = name;
    while (plain.starts_with("./"))
        plain.remove_prefix(2);
    if (path.ends_with(plain) && path.size() > plain.size() && path[path.size() - plain.size() - 1] == '/')
        return path.size() == plain.size() + 1 ? "/" : path.substr(0, path.size() - plain.size() - 1);
    // The name contains "." or "..", so the path doesn't end with the name. Tries the working directory and the root
    // directory of the process.
    if (!file.inFlight) {
        const kernel::ProcPid process = kernel::ProcDir().open(file.actor.value);
        for (const char* const link : {"cwd", "root"}) {
            const std::string directory = process.readLink(link);
            if ((std::filesystem::path(directory) / name).lexically_normal() == path)
                return directory;
        }
    }
    return std::nullopt;
}

/// Scope in which the calling process has a different working directory.
class WorkingDirectoryScope {
public:
    explicit WorkingDirectoryScope(const std::string& to) {
        if (to.empty())
            return;
        back_.reset(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory"));
        const UniqueFd directory = openDirectory(to);
        sys(::fchdir(directory.get()), "enter {}", to);
    }
    ~WorkingDirectoryScope() {
        if (back_ && ::fchdir(back_.get()) != 0)
            ::abort();  // later operations would use the wrong directory
    }
    WorkingDirectoryScope(const WorkingDirectoryScope&) = delete;
    WorkingDirectoryScope& operator=(const WorkingDirectoryScope&) = delete;

private:
    UniqueFd back_;
};

/// Scope in which "/" of the calling process is a new, empty directory. criu can bind a socket to any path there, and
/// no other user can exchange a component of this path. The kernel stores the path that bind(2) gets. The caller must
/// remove all files in the directory before the scope ends. The process must have one thread, because threads share the
/// root directory.
class RootDirectoryScope {
public:
    /// Creates the directory in the same directory as the future socket file `place`, so that both are on one mount.
    explicit RootDirectoryScope(const kernel::CreatedName& place)
        : directory_(place.beside(fmt::format("{}.criu.{}", place.name(), ::getpid()))),
          root_(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory")),
          current_(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory")) {
        const UniqueFd inside = directory_.createDirectory();
        recordedRoot_.emplace(inside.get());
        sys(::fchdir(inside.get()), "enter a directory beside {}", place.name());
        away_ = true;
        sys(::chroot("."), "make a directory beside {} the root", place.name());
    }
    ~RootDirectoryScope() { goBack(); }
    RootDirectoryScope(const RootDirectoryScope&) = delete;
    RootDirectoryScope& operator=(const RootDirectoryScope&) = delete;

    void goBack() noexcept {
        if (!std::exchange(away_, false))
            return;
        recordedRoot_.reset();
        if (::fchdir(root_.get()) != 0 || ::chroot(".") != 0 || ::fchdir(current_.get()) != 0)
            ::abort();  // later operations would use the wrong directory
    }

private:
    kernel::CreatedName directory_;
    UniqueFd root_;
    UniqueFd current_;
    std::optional<kernel::RecordedRoot> recordedRoot_;
    bool away_ = false;
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

void setPermissions(int file, const UnixName& name) {
    if (name.permissions == nullptr)
        return;
    const FilePermsEntry& wanted = *name.permissions;
    const ErrorContext context([&] { return name.shown(); });
    struct stat now {};
    sys(::fstat(file, &now), "stat it");
    if (now.st_uid != wanted.uid || now.st_gid != wanted.gid)
        changeOwner(file, wanted.uid, wanted.gid);
    if ((now.st_mode & 07777) != (wanted.mode & 07777))
        changeMode(file, static_cast<mode_t>(wanted.mode));
}

/// Removes the socket file that the dumped process left. Throws Error if a socket is bound to the file, because another
/// process then uses this socket.
void removeStale(const UnixName& name, const kernel::CreatedName& at) {
    const UniqueFd file(::openat(at.directory(), at.name(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat there {};
    if (!file || ::fstat(file.get(), &there) != 0 || !S_ISSOCK(there.st_mode))
        return;
    // Tests whether a socket is bound to the file: if not, connect(2) returns ECONNREFUSED. The kernel checks this
    // before it compares the socket types. A bound socket of any type doesn't notice the connect(2) of a datagram
    // socket.
    const UniqueFd probe(sys(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "make a socket"));
    const std::string self = fmt::format("/proc/self/fd/{}", file.get());
    const Address address(self);
    if (::connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED) {
        Error error(EADDRINUSE, fmt::format("bind a socket to {}", name.shown()));
        error.addHint("another socket has that name");
        throw error;
    }
    if (const int code = removeIfSame(at.directory(), at.name(), Inode::of(there)); code != 0)
        failWith(code, "remove the stale socket {}", name.shown());
}

/// Returns the file name of a path below a covered directory, as a name that criu may create.
kernel::CreatedName nameBelow(const files::HiddenDirectory& hidden, std::string_view path) {
    path.remove_prefix(hidden.path.size());
    while (path.starts_with('/'))
        path.remove_prefix(1);
    return kernel::CreatedName::below(hidden.directory->get(), std::string(path));
}

/// Returns the file name of the socket file, as a name that criu may create. For a relative name, the caller must be in
/// the directory baseOf().
kernel::CreatedName fileOf(const UnixName& name, const files::HiddenDirectory* hidden) {
    if (hidden != nullptr)
        return nameBelow(*hidden, name.path());
    return kernel::CreatedName(name.place.empty() ? std::string(name.address()) : name.place);
}

/// Returns the directory to which the path of the socket file is relative; empty if the path is absolute.
std::string baseOf(const UnixName& name, const files::HiddenDirectory* hidden) {
    return hidden == nullptr && name.place.empty() ? name.directory : std::string();
}

/// Binds the socket `fd` to `path` in a temporary root directory. Moves the socket file to `at` if that name is free.
UniqueFd bindFile(int fd, const UnixName& name, const std::string& path, kernel::CreatedName& at, PathFate fate) {
    RootDirectoryScope apart(at);
    kernel::CreatedDirectories parents;
    parents.make(parentDirectory(path));
    kernel::CreatedName made(path);
    const Address address(path);
    made.announceFile(S_IFSOCK);
    sys(::bind(fd, address.get(), address.length), "bind a socket to {}", name.shown());
    made.noteCreated();
    UniqueFd file = made.open();
    apart.goBack();
    setPermissions(file.get(), name);
    // Even a file with PathFate::Removed gets the name for a moment, because /proc shows the last name of a deleted
    // file.
    const int code = made.moveTo(at);
    if (code == 0 || (code == EEXIST && fate == PathFate::Removed))
        return file;
    Error error(code == EEXIST ? EADDRINUSE : code, fmt::format("bind a socket to {}", name.shown()));
    if (code == EEXIST)
        error.addHint("a file of another kind has that name");
    throw error;
}

/// Binds the socket `fd` to `path` in criu's root directory, and makes `at` the owner of the file. For a criu without
/// CAP_SYS_CHROOT: it has no more rights to files than the user who could exchange components of the path.
UniqueFd bindWithUsersRights(int fd, const UnixName& name, const std::string& path, kernel::CreatedName& at) {
    const Address address(path);
    at.announceFile(S_IFSOCK);
    sys(::bind(fd, address.get(), address.length), "bind a socket to {}", name.shown());
    at.noteCreated();
    UniqueFd file = at.open();
    setPermissions(file.get(), name);
    return file;
}

/// Creates the other hard links of the socket file `at`. At these names, removes stale files of the dumped socket.
std::vector<kernel::CreatedName> linkFurther(const UnixName& name, const kernel::CreatedName& at, int file) {
    std::vector<kernel::CreatedName> names;
    for (const std::string& further : name.furtherNames) {
        kernel::CreatedName next = at.beside(further);
        removeStale(name, next);
        if (const int code = next.link(file); code != 0)
            failWith(code, "link a socket to {}, a further name of {}", further, name.shown());
        names.push_back(std::move(next));
    }
    return names;
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
    name.place = name.isPath() && entry.file_path != nullptr ? entry.file_path : "";
    if (!name.place.empty() && name.place.front() != '/')
        fail("the file of socket:[{}] is at {}, which isn't an absolute path", entry.ino, name.place);
    for (std::size_t i = 0; i < entry.n_further_names; ++i) {
        const std::string_view further = entry.further_names[i];
        if (further.empty() || further == "." || further == ".." || further.find('/') != std::string_view::npos)
            fail("the file of socket:[{}] has a further name that is none: {}", entry.ino, further);
        name.furtherNames.emplace_back(further);
    }
    if (name.isPath() && withoutEnd(name.text).find('\0') != std::string_view::npos)
        fail("socket:[{}] has a path with a zero byte in it", entry.ino);
    return name;
}

std::string_view UnixName::address() const {
    return isPath() ? withoutEnd(text) : std::string_view(text);
}

std::string UnixName::path() const {
    if (!place.empty())
        return std::filesystem::path(place).lexically_normal();
    return (std::filesystem::path(directory.empty() ? "/" : directory) / address()).lexically_normal();
}

std::string UnixName::shown() const {
    if (!place.empty())
        return fmt::format("{} at {}", showAddress(text), place);
    if (isPath() && !directory.empty() && text.front() != '/')
        return fmt::format("{}/{}", directory, showAddress(text));
    return showAddress(text);
}

namespace {

/// Throws Error if a restore couldn't find the socket file by the mount id and the socket's name. `path`: path of the
/// file on a covered mount.
void requireRestorable(const files::OpenFd& file, const UnixSkEntry& entry, const std::string& path,
                       const files::TreeRoot& tree) {
    if (!tree.isDumped() || !tree.hasMount(entry.mnt_id) || tree.isOfNonRootNs(entry.mnt_id) ||
        tree.isOfCriu(entry.mnt_id))
        fail(
            "{} is bound to {}, which no path leads to in the mount namespace of the first process, so it can't be "
            "restored",
            file.describe(), path);
    if (UnixName::of(entry).path() != path)
        fail("{} is bound to {} by the name {}, and another mount lies over it now, which can't be restored",
             file.describe(), path, UnixName::of(entry).shown());
}

/// Stores all names of the socket file in the directory of `path`, in which bind(2) created the file. `found`: true if
/// the file still has the name `path`. If it hasn't, sets `path` to another name of the file in this directory. Returns
/// false if the file has no name in the directory.
bool storeNames(const files::OpenFd& file, const struct stat& stat, const std::string& directory, bool found,
                std::string& path, UnixSkEntry& out, Log& log, Arena& arena) {
    std::vector<std::string> names;
    if (stat.st_nlink > (found ? 1U : 0U))
        names = namesInDirectory(directory, stat);
    if (found)
        std::erase(names, path.substr(path.rfind('/') + 1));
    const std::size_t known = names.size() + (found ? 1 : 0);
    if (stat.st_nlink > known)
        log.loss(Loss::Links,
                 "{} is bound to {}, which has {} further {} elsewhere: a restore leaves {} without a socket",
                 file.describe(), path, stat.st_nlink - known, stat.st_nlink - known == 1 ? "name" : "names",
                 stat.st_nlink - known == 1 ? "it" : "them");
    if (!found && names.empty())
        return false;
    if (!found) {
        path.replace(path.rfind('/') + 1, std::string::npos, names.front());
        names.erase(names.begin());
    }
    out.further_names = arena.array<char*>(names.size());
    for (const std::string& further : names)
        out.further_names[out.n_further_names++] = arena.string(further);
    return true;
}

/// Opens the file of a socket by the socket's name. Returns an invalid descriptor if the name doesn't lead to this
/// file, for instance because the process has another working directory than at its bind(2).
UniqueFd openByName(const files::OpenFd& file, std::string_view name, const kernel::UnixSocketInfo::File& shown) {
    if (file.inFlight)
        return {};
    const std::string base = fmt::format("/proc/{}/{}/", file.actor, name.starts_with('/') ? "root" : "cwd");
    UniqueFd found(::open((base + std::string(name)).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat stat {};
    if (!found || ::fstat(found.get(), &stat) != 0 || !S_ISSOCK(stat.st_mode) ||
        static_cast<std::uint32_t>(stat.st_ino) != shown.inode ||
        (major(stat.st_dev) << 20 | minor(stat.st_dev)) != shown.device)
        return {};
    return found;
}

/// Opens the file that a socket is bound to.
UniqueFd openSocketFile(const files::OpenFd& file, std::string_view name,
                        const std::optional<kernel::UnixSocketInfo::File>& shown) {
    // needs CAP_NET_ADMIN in the user namespace of the network namespace (unix_ioctl() in net/unix/af_unix.c)
    UniqueFd place(::ioctl(file.copy.get(), kOpenSocketFile));
    const int code = errno;
    if (!place && code == EPERM && shown)
        place = openByName(file, name, *shown);
    if (place)
        return place;
    Error error(code, fmt::format("open the file that {} is bound to", file.describe()));
    if (code == EPERM)
        error.addHint("the name of the socket doesn't lead to its file, which only CAP_NET_ADMIN can find then");
    throw error;
}

}  // namespace

void dumpPath(const files::OpenFd& file, std::string_view name,
              const std::optional<kernel::UnixSocketInfo::File>& shown, UnixSkEntry& out, files::FileDump& dump,
              Arena& arena) {
    const UniqueFd place = openSocketFile(file, withoutEnd(name), shown);
    struct stat stat {};
    sys(::fstat(place.get(), &stat), "stat the file that {} is bound to", file.describe());
    std::string path = kernel::ProcDir().self().readLink(fmt::format("fd/{}", place.get()));
    struct stat there {};
    const files::TreeRoot& tree = dump.treeRoot();
    const int mount = tree.isOwn() ? kernel::mountIdOf(place.get()).value_or(-1) : -1;
    if (tree.isDumped()) {
        out.has_mnt_id = 1;
        out.mnt_id = mount;
    }
    const std::string_view plain = withoutEnd(name);
    bool found = ::lstat(tree.at(path, mount).c_str(), &there) == 0 && there.st_dev == stat.st_dev &&
                 there.st_ino == stat.st_ino;
    const bool lostName = !found && path.ends_with(kDeleted);
    if (lostName)
        path.resize(path.size() - kDeleted.size());
    const std::string bound = path;
    if (found || lostName)
        found = storeNames(file, stat, tree.at(parentDirectory(path), mount), found, path, out, dump.log(), arena);
    if (lostName && !found) {
        out.has_deleted = 1;
        out.deleted = 1;
    }
    auto& permissions = *arena.make<FilePermsEntry>();
    permissions.mode = stat.st_mode;
    permissions.uid = dump.ids().innerUid(stat.st_uid);
    permissions.gid = dump.ids().innerGid(stat.st_gid);
    out.file_perms = &permissions;
    if (!plain.starts_with('/')) {
        const std::optional<std::string> directory = bindDirectory(file, plain, bound);
        out.name_dir = arena.string(directory.value_or(parentDirectory(path)));
        if ((!directory || path != bound) && out.deleted == 0)
            out.file_path = arena.string(path);
    } else if (const std::string named = UnixName::of(out).path(); named != path && out.deleted == 0) {
        // Stores the path only if the socket's name doesn't lead to the file: then the file was renamed, or the process
        // had a different root directory. Doesn't store the path of a deleted file, because this path may be in a
        // temporary directory of an earlier restore.
        struct stat by {};
        if (::lstat(tree.at(named, mount).c_str(), &by) != 0 || by.st_dev != stat.st_dev || by.st_ino != stat.st_ino)
            out.file_path = arena.string(path);
    }
    if (tree.isOwn() && out.deleted == 0 && (!found || tree.isCovered(mount)))
        requireRestorable(file, out, path, tree);
}

UniqueFd bindName(int fd, const UnixName& name, PathFate fate, const files::HiddenDirectory* hidden) {
    if (!name.isPath()) {
        const Address address(name.text);
        sys(::bind(fd, address.get(), address.length), "bind a socket to {}", name.shown());
        return {};
    }
    const std::string path(name.address());
    const bool makesWay = fate == PathFate::Removed && hidden == nullptr;
    kernel::CreatedDirectories base;
    if (makesWay)
        base.make(baseOf(name, hidden));
    const WorkingDirectoryScope excursion(baseOf(name, hidden));
    kernel::CreatedDirectories parents;
    if (makesWay)
        parents.make(parentDirectory(name.place.empty() ? path : name.place));
    kernel::CreatedName at = fileOf(name, hidden);
    if (fate == PathFate::Kept)
        removeStale(name, at);
    UniqueFd file = hidden == nullptr && !kernel::hasCapability(CAP_SYS_CHROOT)
                        ? bindWithUsersRights(fd, name, path, at)
                        : bindFile(fd, name, path, at, fate);
    if (fate == PathFate::Removed)
        return file;
    std::vector<kernel::CreatedName> further = linkFurther(name, at, file.get());
    // The destructors of CreatedName would remove the files.
    at.release();
    for (kernel::CreatedName& one : further)
        one.release();
    return file;
}

void freeName(const UnixName& name, const files::HiddenDirectory* hidden) {
    if (!name.isPath() || name.deleted)
        return;
    const WorkingDirectoryScope excursion(baseOf(name, hidden));
    const kernel::CreatedName at = fileOf(name, hidden);
    removeStale(name, at);
}

void connectName(int fd, const UnixName& name, int path) {
    if (path >= 0) {
        const std::string link = fmt::format("/proc/self/fd/{}", path);
        const Address address(link);
        sys(::connect(fd, address.get(), address.length), "connect to {}", name.shown());
        return;
    }
    const WorkingDirectoryScope excursion(name.isPath() ? name.directory : std::string());
    const Address address(name.address());
    sys(::connect(fd, address.get(), address.length), "connect to {}", name.shown());
}

}  // namespace criu::sockets
