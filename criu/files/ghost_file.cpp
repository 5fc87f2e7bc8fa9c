// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/ghost_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/model/id_map.hpp"
#include "images/ghost-file.hpp"
#include "images/remap-file-path.hpp"

namespace criu::files {
namespace {

// Minimum size of a regular file whose content is in chunks. A smaller content directly follows the image entry.
constexpr std::uint64_t kChunkedFrom = 12288;
constexpr std::size_t kCopyBlock = std::size_t{1} << 20;

bool isDevice(mode_t mode) {
    return S_ISCHR(mode) || S_ISBLK(mode);
}

Timeval timeOf(const timespec& time) {
    Timeval out = TIMEVAL__INIT;
    out.tv_sec = static_cast<std::uint64_t>(time.tv_sec);
    out.tv_usec = static_cast<std::uint64_t>(time.tv_nsec / 1000);
    return out;
}

void copyRange(int from, std::uint64_t offset, std::uint64_t length, ImageWriter& to, StopRequest& stop) {
    std::vector<std::byte> block(std::min<std::uint64_t>(length, kCopyBlock));
    while (length > 0) {
        stop.throwIfRequested();
        const std::size_t want = std::min<std::uint64_t>(length, block.size());
        const ssize_t got = ::pread(from, block.data(), want, static_cast<off_t>(offset));
        if (got < 0)
            failErrno("read a deleted file's content");
        if (got == 0)
            fail("a deleted file shrank while it was read");
        to.payload(std::span(block).first(static_cast<std::size_t>(got)));
        offset += static_cast<std::uint64_t>(got);
        length -= static_cast<std::uint64_t>(got);
    }
}

/// Copies only ranges with data, so holes stay holes.
void copyChunks(int from, std::uint64_t size, ImageWriter& to, StopRequest& stop) {
    forEachData(from, size, [&](std::uint64_t start, std::uint64_t end) {
        GhostChunkEntry chunk = GHOST_CHUNK_ENTRY__INIT;
        chunk.off = start;
        chunk.len = end - start;
        to.write(chunk);
        copyRange(from, chunk.off, chunk.len, to, stop);
    });
}

void fillFromImage(ImageReader& image, std::uint64_t length, std::uint64_t offset, int to) {
    std::vector<std::byte> block(std::min<std::uint64_t>(length, kCopyBlock));
    while (length > 0) {
        const auto part = std::span(block).first(std::min<std::uint64_t>(length, block.size()));
        image.readPayload(part);
        const ssize_t put = ::pwrite(to, part.data(), part.size(), static_cast<off_t>(offset));
        if (put != static_cast<ssize_t>(part.size()))
            failErrno("write a deleted file's content");
        offset += part.size();
        length -= part.size();
    }
}

void fillRegular(ImageReader& image, const GhostFileEntry& entry, int to) {
    if (entry.has_chunks != 0 && entry.chunks != 0) {
        while (const auto chunk = image.next<GhostChunkEntry>())
            fillFromImage(image, (*chunk)->len, (*chunk)->off, to);
        sys(::ftruncate(to, static_cast<off_t>(entry.size)), "set a deleted file's size to {}", entry.size);
        return;
    }
    const std::vector<std::byte> body = image.rest(std::size_t{1} << 30);
    for (std::size_t done = 0; done < body.size();) {
        const ssize_t put = ::pwrite(to, body.data() + done, body.size() - done, static_cast<off_t>(done));
        if (put <= 0)
            failErrno("write a deleted file's content");
        done += static_cast<std::size_t>(put);
    }
}

/// Creates the inode of a ghost file at the name `at`, without content and owner. Opens a regular file for writing, and
/// other files as O_PATH.
UniqueFd createInode(const GhostFileEntry& entry, const std::string& path, kernel::CreatedName& at) {
    const auto mode = static_cast<mode_t>(entry.mode);
    const ErrorContext context([&] { return path; });
    if (S_ISREG(mode))
        return at.createFile(O_WRONLY);
    if (S_ISDIR(mode))
        return at.createDirectory();
    if (S_ISLNK(mode)) {
        if (entry.symlnk_target == nullptr)
            fail("the ghost of a symbolic link has no target");
        return at.createSymbolicLink(entry.symlnk_target);
    }
    if (S_ISFIFO(mode) || S_ISSOCK(mode) || isDevice(mode))
        return at.createNode(mode & S_IFMT, isDevice(mode) ? kernel::decodeDevice(entry.rdev) : 0);
    fail("the ghost has a mode of no known file type ({:#o})", entry.mode);
}

/// Sets owner, mode and times. Uses `made`, the descriptor of createInode(), because another user may have replaced the
/// file at the name.
void setMetadata(const GhostFileEntry& entry, const std::string& path, int made, const model::IdMap& ids) {
    const ErrorContext context([&] { return path; });
    changeOwner(made, ids.outerUid(entry.uid), ids.outerGid(entry.gid));
    // Sets the mode after the owner, because chown(2) clears the set-user-id and set-group-id bits.
    if (!S_ISLNK(static_cast<mode_t>(entry.mode)))
        changeMode(made, static_cast<mode_t>(entry.mode) & 07777);
    if (entry.atim != nullptr && entry.mtim != nullptr) {
        const auto toSpec = [](const Timeval& time) {
            return timespec{static_cast<time_t>(time.tv_sec), static_cast<long>(time.tv_usec) * 1000};
        };
        changeTimes(made, toSpec(*entry.atim), toSpec(*entry.mtim));
    }
}

/// Creates all directories of `path` in a new file system that isn't mounted, and returns the name of `path` in it.
kernel::CreatedName createDetachedName(int fileSystem, const std::string& path) {
    std::string at;
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        at = path.substr(1, slash - 1);
        makeDirectory(fileSystem, at, IfThere::Used);
    }
    return kernel::CreatedName::below(fileSystem, path.substr(1));
}

/// Returns true for file systems on which an O_PATH descriptor keeps a deleted inode. On other file systems (FUSE, SMB,
/// 9p), the server discards a file that has neither a name nor an open descriptor.
bool keepsDeletedInodes(int file) {
    constexpr decltype(statfs::f_type) kLocal[] = {BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, RAMFS_MAGIC,
                                                   TMPFS_MAGIC,       XFS_SUPER_MAGIC,  F2FS_SUPER_MAGIC};
    struct statfs system {};
    return ::fstatfs(file, &system) == 0 &&
           std::find(std::begin(kLocal), std::end(kLocal), system.f_type) != std::end(kLocal);
}

/// Prepares a file that will lose its name. If an O_PATH descriptor wouldn't keep the inode, opens the file for reading
/// or writing. Otherwise returns the O_PATH descriptor unchanged: the kernel grants no write lease (F_SETLEASE) on a
/// file that is also open elsewhere.
UniqueFd held(UniqueFd file) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || keepsDeletedInodes(file.get()))
        return file;
    const std::string self = fmt::format("/proc/self/fd/{}", file.get());
    for (const int access : {O_RDONLY, O_WRONLY})
        if (UniqueFd open(::open(self.c_str(), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)); open)
            return open;
    return file;
}

}  // namespace

std::uint32_t GhostFileDump::add(const OpenFd& file, const ImageDir& images, const model::IdMap& ids,
                                 StopRequest& stop) {
    const auto key = std::pair(file.stat.st_dev, file.stat.st_ino);
    const auto known = ids_.find(key);
    if (known != ids_.end())
        return known->second;
    const auto id = static_cast<std::uint32_t>(ids_.size() + 1);
    write(id, file, images, ids, stop);
    ids_.emplace(key, id);
    return id;
}

void GhostFileDump::write(std::uint32_t id, const OpenFd& file, const ImageDir& images, const model::IdMap& ids,
                          StopRequest& stop) const {
    const struct stat& stat = file.stat;
    const std::uint64_t onDisk = bytesInUse(stat);
    if (S_ISREG(stat.st_mode) && onDisk > limit_) {
        Error error(0,
                    fmt::format("{} is a deleted file of {} bytes on disk, more than --ghost-limit ({} bytes) allows",
                                file.describe(), onDisk, limit_));
        error.addHint(fmt::format("dump with --ghost-limit {}", onDisk));
        throw error;
    }

    Timeval accessed = timeOf(stat.st_atim);
    Timeval modified = timeOf(stat.st_mtim);
    GhostFileEntry entry = GHOST_FILE_ENTRY__INIT;
    entry.uid = ids.innerUid(stat.st_uid);
    entry.gid = ids.innerGid(stat.st_gid);
    entry.mode = stat.st_mode;
    entry.has_dev = 1;
    entry.dev = kernel::kernelForm(stat.st_dev);
    entry.has_ino = 1;
    entry.ino = stat.st_ino;
    entry.atim = &accessed;
    entry.mtim = &modified;
    if (S_ISCHR(stat.st_mode) || S_ISBLK(stat.st_mode)) {
        entry.has_rdev = 1;
        entry.rdev = kernel::encodeDevice(stat.st_rdev);
    }

    ImageWriter image = images.create(ImageKind::GhostFile, id);
    std::string target;
    if (S_ISREG(stat.st_mode)) {
        const FileCopy content = openContent(file, images);
        const ErrorContext context([&] { return file.describe(); });
        const auto size = static_cast<std::uint64_t>(stat.st_size);
        entry.has_size = 1;
        entry.size = size;
        if (size >= kChunkedFrom) {
            entry.has_chunks = 1;
            entry.chunks = 1;
            image.write(entry);
            copyChunks(content.get(), size, image, stop);
        } else {
            image.write(entry);
            copyRange(content.get(), 0, size, image, stop);
        }
    } else {
        if (S_ISLNK(stat.st_mode)) {
            target.resize(static_cast<std::size_t>(stat.st_size) + 1);
            const ssize_t length = sys(::readlinkat(file.copy.get(), "", target.data(), target.size()),
                                       "read the target of {}", file.describe());
            target.resize(static_cast<std::size_t>(length));
            entry.symlnk_target = target.data();
        }
        image.write(entry);
    }
    image.finish();
}

std::optional<std::uint32_t> ghostOf(const RemapFilePathEntry& entry) {
    constexpr std::uint32_t kOldGhostBit = 1U << 31;  // bit that marks a ghost file in images without remap_type
    if (entry.has_remap_type != 0)
        return entry.remap_type == REMAP_TYPE__GHOST ? std::optional(entry.remap_id) : std::nullopt;
    return (entry.remap_id & kOldGhostBit) != 0 ? std::optional(entry.remap_id & ~kOldGhostBit) : std::nullopt;
}

GhostFile::GhostFile(std::uint32_t id, const std::string& path, const ImageDir& images, const model::IdMap& ids) {
    ImageReader image = images.openRequired(ImageKind::GhostFile, id);
    const Record<GhostFileEntry> entry = image.one<GhostFileEntry>();
    const auto mode = static_cast<mode_t>(entry->mode);
    oldInode_ = {entry->dev, entry->ino};
    std::string name = path;
    if (isDevice(mode)) {
        // Creates a device node in a file system that isn't mounted, because at a visible path another user could open
        // the device before its name is removed. The kernel removes the file system with its last descriptor.
        const UniqueFd apart = kernel::mountFileSystem({"tmpfs", "criu", "mode=700", 0});
        temporary_ = createDetachedName(apart.get(), path);
    } else {
        // A directory gets its old name at once if that name is free, because criu can't link a directory to it later.
        // Other temporary names contain criu's pid, so that they are unique.
        struct stat there {};
        if (!S_ISDIR(mode) || ::lstat(path.c_str(), &there) == 0)
            suffix_ = fmt::format(".cr.{:x}.{}.ghost", id, ::getpid());
        name += suffix_;
        parents_.make(parentDirectory(path));
        temporary_ = kernel::CreatedName(name);
    }
    hasOneName_ = S_ISDIR(mode) || isDevice(mode);
    const UniqueFd made = createInode(*entry, name, temporary_);
    if (S_ISREG(mode))
        fillRegular(image, *entry, made.get());
    setMetadata(*entry, name, made.get(), ids);
}

UniqueFd GhostFile::openAs(const std::string& path, const LinkAcross& across) {
    if (hasOneName_)
        return across ? openOnMountOf(path) : temporary_.open();
    parents_.make(parentDirectory(path));
    return openUnderName(temporary_.open(), path, across);
}

/// Opens the only name of the ghost file by `path`, which leads over another mount. Returns a descriptor on the first
/// mount if the path leads to another file, because another mount may cover the name.
UniqueFd GhostFile::openOnMountOf(const std::string& path) const {
    UniqueFd first = temporary_.open();
    const UniqueFd parent = openDirectory(parentDirectory(path));
    struct stat wanted {};
    struct stat there {};
    sys(::fstat(first.get(), &wanted), "stat {}", path);
    UniqueFd file(::openat(parent.get(), temporary_.name(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::fstat(file.get(), &there) != 0 || Inode::of(there) != Inode::of(wanted))
        return first;
    return file;
}

UniqueFd openUnderName(UniqueFd file, const std::string& path, const LinkAcross& across) {
    kernel::CreatedDirectories parents;
    parents.make(parentDirectory(path));
    kernel::CreatedName name(path);
    if (across) {
        struct stat there {};
        const std::string suffix = ::lstat(path.c_str(), &there) == 0 ? fmt::format(".cr.{}.link", ::getpid()) : "";
        name = kernel::CreatedName(path + suffix);
        name.announceLink(file.get());
        name.removeBy(across(suffix));
        name.noteCreated(file.get());
    } else if (const int code = name.link(file.get()); code != 0) {
        if (code == EEXIST || code == EPERM || code == EXDEV)
            return held(std::move(file));
        failWith(code, "link a file to {}", path);
    }
    UniqueFd opened = held(name.open());
    if (const int code = name.remove(); code != 0 && code != ENOENT && code != EEXIST)
        failWith(code, "remove the name {} of a deleted file", path);
    return opened;
}

}  // namespace criu::files
