// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/watches/watched_inode.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include "criu/base/names.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/model/options.hpp"

namespace criu::files {
namespace {

constexpr std::size_t kHandleWords = FH_ENTRY_SIZES__min_entries;
constexpr std::size_t kMaxHandle = kHandleWords * sizeof(std::uint64_t);
static_assert(kMaxHandle == MAX_HANDLE_SZ);

/// struct file_handle with space for the largest handle.
struct alignas(file_handle) HandleBuffer {
    std::array<std::byte, sizeof(file_handle) + kMaxHandle> bytes{};

    HandleBuffer(int type, std::span<const std::byte> content) {
        file_handle head{};
        head.handle_type = type;
        head.handle_bytes = static_cast<unsigned>(content.size());
        std::memcpy(bytes.data(), &head, sizeof(head));
        if (!content.empty())
            std::memcpy(bytes.data() + offsetof(file_handle, f_handle), content.data(), content.size());
    }
    file_handle* get() noexcept { return reinterpret_cast<file_handle*>(bytes.data()); }
};

std::string linkOf(int fd) {
    std::array<char, PATH_MAX> target{};
    const std::string self = fmt::format("/proc/self/fd/{}", fd);
    const ssize_t length = ::readlink(self.c_str(), target.data(), target.size());
    return {target.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

bool leadsTo(const std::string& path, const struct stat& wanted, const TreeRoot& tree, int mount) {
    struct stat there {};
    return path.starts_with('/') && ::lstat(tree.at(path, mount).c_str(), &there) == 0 &&
           there.st_dev == wanted.st_dev && there.st_ino == wanted.st_ino;
}

/// Opens the root directory of a mount; open_by_handle_at(2) can then open handles of this mount. Returns an invalid
/// descriptor if a single file is mounted, or if another mount covers the mount point.
UniqueFd openMount(const kernel::MountInfo& mount, const TreeRoot& tree) {
    return UniqueFd(
        ::open(tree.at(mount.mountPoint, mount.id).c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
}

kernel::MountTable readMounts() {
    kernel::ProcBuffer buffer;
    return kernel::readMountInfo(kernel::ProcDir().self(), buffer);
}

bool isOn(const kernel::MountInfo& mount, std::uint32_t device) {
    return (mount.devMajor << kernel::kMinorBits | mount.devMinor) == device;
}

}  // namespace

std::string selfPath(const UniqueFd& fd) {
    return fmt::format("/proc/self/fd/{}", fd.get());
}

InodeSearch::Limits WatchedInodes::searchLimits(FileDump& dump) {
    InodeSearch::Limits limits{&dump.stop(), dump.options().timeout, {}};
    for (const kernel::MountInfo& mount : mounts(dump).all())
        if (kernel::hasServer(mount.fsType))
            limits.avoided.insert(makedev(mount.devMajor, mount.devMinor));
    return limits;
}

const kernel::MountTable& WatchedInodes::mounts(const FileDump& dump) {
    if (!mounts_)
        mounts_.emplace(dump.treeRoot().isOwn() ? dump.treeRoot().mounts() : readMounts());
    return *mounts_;
}

const std::vector<WatchedInodes::Root>& WatchedInodes::rootsOf(std::uint32_t device, const FileDump& dump) {
    const auto [at, fresh] = roots_.try_emplace(device);
    if (!fresh)
        return at->second;
    for (const kernel::MountInfo& mount : mounts(dump).all())
        if (isOn(mount, device))
            if (UniqueFd fd = openMount(mount, dump.treeRoot()); fd)
                at->second.push_back({std::move(fd), mount.fsType == "tmpfs" || mount.fsType == "devtmpfs", mount.id});
    return at->second;
}

WatchedInodes::Lookup WatchedInodes::openHandle(std::uint32_t device, const kernel::FileHandle& handle,
                                                const FileDump& dump) {
    Lookup found;
    HandleBuffer buffer(handle.type, std::as_bytes(std::span(handle.bytes)));
    for (const Root& root : rootsOf(device, dump)) {
        const UniqueFd fd(::open_by_handle_at(root.fd.get(), buffer.get(), O_PATH | O_CLOEXEC));
        if (!fd)
            continue;
        found.result = Opened::WithoutPath;
        found.inMemoryOnly = root.inMemoryOnly;
        struct stat stat {};
        sys(::fstat(fd.get(), &stat), "stat a watched inode");
        found.symbolicLink = S_ISLNK(stat.st_mode);
        // Checks the path, because it may lead to another file if only a part of the file system is mounted.
        found.path = linkOf(fd.get());
        if (leadsTo(found.path, stat, dump.treeRoot(), root.mount)) {
            found.result = Opened::WithPath;
            found.mount = root.mount;
            break;
        }
    }
    return found;
}

std::string WatchedInodes::search(std::uint32_t device, std::uint64_t inode, bool everywhere, FileDump& dump) {
    if (!search_)
        search_ = std::make_unique<InodeSearch>(dump.options().irmapScanPaths, dump.treeRoot(), dump.log(),
                                                searchLimits(dump));
    if (const auto path = search_->find(kernel::deviceOf(device), inode))
        return *path;
    if (everywhere) {
        for (const kernel::MountInfo& mount : mounts(dump).all()) {
            if (!isOn(mount, device))
                continue;
            search_->addMount(mount.mountPoint);
            if (const auto path = search_->find(kernel::deviceOf(device), inode))
                return *path;
        }
    }
    Error error(0, fmt::format("no path leads to the watched inode {} on device {:#x}", inode, device));
    error.addHint("name a directory it lies below with --irmap-scan-path");
    throw error;
}

FhEntry* WatchedInodes::describe(std::uint32_t device, std::uint64_t inode,
                                 const std::optional<kernel::FileHandle>& handle, FileDump& dump) {
    auto& out = *dump.arena().make<FhEntry>();
    out.n_handle = kHandleWords;
    out.handle = dump.arena().array<std::uint64_t>(kHandleWords);
    Lookup found;
    if (handle) {
        out.type = static_cast<std::uint32_t>(handle->type);
        out.bytes = static_cast<std::uint32_t>(handle->bytes.size());
        if (!handle->bytes.empty())
            std::memcpy(out.handle, handle->bytes.data(), handle->bytes.size());
        found = openHandle(device, *handle, dump);
    }
    if (found.result == Opened::WithPath) {
        // Symbolic links get no path, because CRIU would follow the link. CRIU gives them no path either.
        if (!found.symbolicLink || found.inMemoryOnly) {
            out.path = dump.arena().string(found.path);
            // The image contains the mount id, because the watching process may be in a namespace in which the path
            // leads to another file.
            out.has_mnt_id = dump.treeRoot().isDumped() ? 1 : 0;
            out.mnt_id = static_cast<std::uint32_t>(found.mount);
        }
        return &out;
    }
    if (paths_.hasGhost(kernel::deviceOf(device), inode))
        return &out;
    const bool handleSuffices = found.result == Opened::WithoutPath && !found.inMemoryOnly;
    if (!handleSuffices || dump.options().forceIrmap)
        out.path = dump.arena().string(search(device, inode, !handleSuffices, dump));
    return &out;
}

namespace {

bool forbidsWatching(int code) {
    return code == EACCES || code == EPERM;
}

struct stat statOf(const UniqueFd& fd, const std::string& path) {
    struct stat stat {};
    sys(::fstat(fd.get(), &stat), "stat {}", path);
    return stat;
}

/// Opens a path with the credentials of the calling thread. Returns an invalid descriptor if these credentials don't
/// permit it.
UniqueFd openAsCaller(const std::string& path, std::uint64_t inode) {
    UniqueFd fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd) {
        const struct stat stat = statOf(fd, path);
        // The watched file was moved, and now a symbolic link has its path.
        if (S_ISLNK(stat.st_mode) && stat.st_ino != inode)
            fd.reset(::open(path.c_str(), O_PATH | O_CLOEXEC));
    }
    if (!fd && !forbidsWatching(errno))
        failErrno("open the watched file {}", path);
    return fd;
}

/// Returns true if the calling thread may read the file, because inotify_add_watch(2) and fanotify_mark(2) require
/// this. Before Linux 5.8, faccessat2(2) doesn't exist, and only these two calls make the check.
bool mayRead(const UniqueFd& fd) {
    return ::syscall(SYS_faccessat2, fd.get(), "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 || errno == ENOSYS;
}

/// Opens a path with the credentials of each user in turn. Returns an invalid descriptor if one user isn't permitted.
UniqueFd openAsAll(const std::vector<kernel::FileRights>& users, const std::string& path, std::uint64_t inode) {
    UniqueFd fd;
    for (const kernel::FileRights& rights : users) {
        const kernel::FileRightsScope taken(rights);
        UniqueFd next = openAsCaller(path, inode);
        if (!next || !mayRead(next))
            return {};
        if (fd && Inode::of(statOf(fd, path)) != Inode::of(statOf(next, path)))
            fail("{} was exchanged while it was opened", path);
        fd = std::move(next);
    }
    return fd;
}

std::span<const std::byte> bytesOf(const FhEntry& handle) {
    const std::size_t size = std::min<std::size_t>(handle.n_handle * sizeof(std::uint64_t), kMaxHandle);
    if (handle.bytes > size)
        fail("a file handle of {} bytes, of which {} are there", handle.bytes, size);
    return std::as_bytes(std::span(handle.handle, handle.n_handle)).first(handle.bytes);
}

/// Returns true if the file has this handle. A file system never uses one handle for two inodes.
bool hasHandle(const UniqueFd& fd, const FhEntry& handle) {
    const std::span<const std::byte> wanted = bytesOf(handle);
    const std::array<std::byte, kMaxHandle> none{};
    HandleBuffer found(0, none);
    int mount = 0;
    if (wanted.empty() || ::name_to_handle_at(fd.get(), "", found.get(), &mount, AT_EMPTY_PATH) != 0)
        return false;
    const file_handle& head = *found.get();
    return head.handle_type == static_cast<int>(handle.type) && head.handle_bytes == wanted.size() &&
           std::memcmp(found.bytes.data() + offsetof(file_handle, f_handle), wanted.data(), wanted.size()) == 0;
}

}  // namespace

std::unique_ptr<kernel::FileRightsScope> WatchedFile::takeRights() const {
    return rights ? std::make_unique<kernel::FileRightsScope>(*rights) : nullptr;
}

WatchedFile WatchedOpener::openPath(const std::string& path) {
    return openPath(path, 0, nullptr);
}

/// `handle`: handle of the watched inode; null if unknown.
WatchedFile WatchedOpener::openPath(const std::string& given, std::uint64_t inode, const FhEntry* handle) {
    std::string path = given.starts_with('/') ? given : '/' + given;
    if (handle != nullptr && handle->has_mnt_id != 0)
        path = remaps_.pathTo(static_cast<int>(handle->mnt_id), path);
    if (UniqueFd fd = openAsAll(users_, path, inode); fd)
        return {std::move(fd), users_.front()};
    UniqueFd fd = openAsCaller(path, inode);
    if (fd && (users_.empty() || (handle != nullptr && hasHandle(fd, *handle))))
        return {std::move(fd), {}};
    if (fd)
        fd = openControlled(path, Trusted::RootOrSelf);
    if (fd)
        return {std::move(fd), {}};
    Error error(EACCES, fmt::format("watch {}, which its process may not read by itself", path));
    error.addHint("it can't be shown to be the file that was watched: others may have put another one there");
    throw error;
}

UniqueFd WatchedOpener::openByHandle(std::uint32_t device, const FhEntry& handle) {
    HandleBuffer buffer(static_cast<int>(handle.type), bytesOf(handle));
    if (!mounts_)
        mounts_.emplace(readMounts());
    int code = ENOENT;
    for (const kernel::MountInfo& mount : mounts_->all()) {
        if (!isOn(mount, device))
            continue;
        const UniqueFd root = openMount(mount, {});
        UniqueFd fd(root ? ::open_by_handle_at(root.get(), buffer.get(), O_PATH | O_CLOEXEC) : -1);
        if (!fd && root && errno == EPERM && usernsd_ != nullptr)
            fd = usernsd_->openByHandle(root.get(), buffer.bytes, O_PATH);
        if (!fd) {
            code = errno;
            continue;
        }
        // Checks the file again: if only a part of a file system is mounted, a handle may lead to a file outside of
        // that part.
        struct stat stat {};
        sys(::fstat(fd.get(), &stat), "stat a watched file");
        if (mount.root == "/" || leadsTo(linkOf(fd.get()), stat, {}, mount.id))
            return fd;
        code = EXDEV;
    }
    failWith(code, "open a watched file on device {:#x} by its handle", device);
}

WatchedFile WatchedOpener::open(std::uint32_t device, std::uint64_t inode, const FhEntry& handle) {
    if (const int ghost = remaps_.findGhost(device, inode); ghost >= 0)
        return {UniqueFd(sys(::fcntl(ghost, F_DUPFD_CLOEXEC, 0), "copy a deleted file")), {}};
    if (handle.path != nullptr && handle.path[0] != '\0')
        return openPath(handle.path, inode, &handle);
    return {openByHandle(device, handle), {}};
}

}  // namespace criu::files
