// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/path_open.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/files/build_id.hpp"
#include "criu/kernel/device_number.hpp"
#include "images/regfile.hpp"

namespace criu::files {
namespace {

/// Properties that identify an inode. The time of birth distinguishes the inode from a later inode with the same
/// number.
struct Identity {
    std::uint32_t device = 0;  ///< device number in the form of images
    std::uint64_t inode = 0;
    std::uint64_t born = 0;  ///< time of birth in nanoseconds since 1970; 0 if the file system doesn't store it

    static Identity of(int file) {
        struct statx status {};
        sys(::statx(file, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status), "look at a file");
        Identity identity;
        identity.device = kernel::kernelForm(::makedev(status.stx_dev_major, status.stx_dev_minor));
        identity.inode = status.stx_ino;
        if ((status.stx_mask & STATX_BTIME) != 0)
            identity.born =
                static_cast<std::uint64_t>(status.stx_btime.tv_sec) * kNanosecondsPerSecond + status.stx_btime.tv_nsec;
        return identity;
    }
    friend bool operator==(const Identity&, const Identity&) = default;
};

bool isDumpedInode(const RegFileEntry& entry, int file) {
    return entry.has_device != 0 && entry.has_inode != 0 &&
           Identity::of(file) == Identity{entry.device, entry.inode, entry.has_born != 0 ? entry.born : 0};
}

/// Returns true if open(2) could succeed with different credentials.
bool forbidsOpening(int code) {
    return code == EACCES || code == EPERM;
}

struct stat statOf(int file, const std::string& path) {
    struct stat status {};
    sys(::fstat(file, &status), "stat {}", path);
    return status;
}

/// Returns true for a device node, unless the device is harmless for the host: null, zero, full, random, urandom, tty,
/// or a pseudoterminal (Documentation/admin-guide/devices.txt of Linux).
bool isHostDevice(const struct stat& file) {
    if (!S_ISCHR(file.st_mode))
        return S_ISBLK(file.st_mode);
    constexpr unsigned kMemory = 1;
    constexpr unsigned kTerminals = 5;
    constexpr unsigned kFirstPty = 136;
    constexpr unsigned kLastPty = 143;
    const unsigned of = major(file.st_rdev);
    const unsigned number = minor(file.st_rdev);
    const bool isMemory = of == kMemory && (number == 3 || number == 5 || (number >= 7 && number <= 9));
    const bool isTerminal = of == kTerminals && (number == 0 || number == 2);
    return !isMemory && !isTerminal && (of < kFirstPty || of > kLastPty);
}

/// Throws Error for a file whose size has changed since the dump. Suggests to truncate a file only if a process of the
/// tree could write to it: truncate(1) would destroy a replaced program or library.
[[noreturn]] void refuseSize(const RegFileEntry& entry, const std::string& path, const struct stat& now) {
    Error error(0, fmt::format("{} has {} bytes, not {} as when it was dumped", path, now.st_size, entry.size));
    const bool isWritten = (entry.flags & O_ACCMODE) != O_RDONLY;
    if (isWritten && static_cast<std::uint64_t>(now.st_size) > entry.size)
        error.addHint(fmt::format("put back the file of the dump; if the file was only appended to: truncate -s {} {}",
                                  entry.size, path));
    else
        error.addHint("put back the file of the dump, because images don't hold its content");
    throw error;
}

/// Throws Error unless the file matches the entry. `file` is an O_PATH descriptor: criu opens the file only after this
/// check.
void validate(const RegFileEntry& entry, int file, const std::string& path, const PathOpening& opening) {
    const struct stat now = statOf(file, path);
    if (opening.options.untrusted && isHostDevice(now))
        fail("{} is device {}:{}, which --untrusted forbids to open", path, major(now.st_rdev), minor(now.st_rdev));
    if (entry.has_mode != 0 && (now.st_mode & S_IFMT) != (entry.mode & S_IFMT))
        fail("{} is another kind of file ({:#o}) than when it was dumped ({:#o})", path, now.st_mode & S_IFMT,
             entry.mode & S_IFMT);
    if (opening.check == PathCheck::Nothing)
        return;
    if (entry.has_size != 0 && S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) != entry.size)
        refuseSize(entry, path, now);
    if (entry.has_mode != 0 && now.st_mode != entry.mode && !opening.options.skipFileRwxCheck) {
        Error error(0,
                    fmt::format("{} has mode {:#o}, not {:#o} as when it was dumped", path, now.st_mode, entry.mode));
        error.addHint("--skip-file-rwx-check accepts other permissions");
        throw error;
    }
}

void validateBuildId(const RegFileEntry& entry, int file, const std::string& path) {
    const std::vector<std::byte> id = readBuildId(file);
    if (id.empty() || id.size() > entry.n_build_id * sizeof(std::uint32_t) ||
        std::memcmp(id.data(), entry.build_id, id.size()) != 0)
        fail("{} has another build id than when it was dumped", path);
}

/// Returns flags that open(2) accepts together with O_PATH.
int pathOnly(int how) {
    return O_PATH | O_CLOEXEC | (how & (O_NOFOLLOW | O_DIRECTORY));
}

/// Opens the file of an O_PATH descriptor with the flags `how`. After a failure, returns an invalid descriptor and sets
/// errno.
UniqueFd openAgain(int file, int how) {
    const std::string self = fmt::format("/proc/self/fd/{}", file);
    return UniqueFd(::open(self.c_str(), how & ~O_NOFOLLOW));
}

/// Opens a path with the credentials of the calling thread. Returns an invalid descriptor if these credentials don't
/// permit it.
UniqueFd openAsCaller(const RegFileEntry& entry, const std::string& path, int how, const PathOpening& opening) {
    const bool reusable = opening.opened != nullptr && opening.users.empty() && (how & O_PATH) == 0;
    const int known = reusable ? opening.opened->find(entry, path, pathOnly(how), opening.check) : -1;
    UniqueFd file;
    if (known >= 0) {
        file = openAgain(known, how);
    } else if (UniqueFd found(::open(path.c_str(), pathOnly(how))); found) {
        validate(entry, found.get(), path, opening);
        if ((how & O_PATH) != 0)
            return found;
        file = openAgain(found.get(), how);
        if (file && reusable)
            opening.opened->add(entry, path, pathOnly(how), opening.check, std::move(found));
    }
    if (!file && !forbidsOpening(errno))
        failErrno("open {}", path);
    return file;
}

[[noreturn]] void refuse(const std::string& path) {
    Error error(EACCES, fmt::format("open {}, which its process may not open by itself", path));
    error.addHint("it can't be shown to be the file that was dumped: others may have put another one there");
    throw error;
}

/// Opens a path with the credentials of root in the tree's user namespace, or with criu's credentials (by the usernsd).
UniqueFd openWithMore(const RegFileEntry& entry, const std::string& path, int how, const PathOpening& opening) {
    UniqueFd file(::open(path.c_str(), pathOnly(how)));
    bool outside = false;
    if (!file && forbidsOpening(errno) && opening.usernsd != nullptr) {
        const UniqueFd root(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
        file = opening.usernsd->openBelow(root.get(), path, pathOnly(how));
        outside = true;
    }
    if (!file)
        failErrno("open {}", path);
    const auto isOwn = [&] {
        const uid_t owner = statOf(file.get(), path).st_uid;
        return !outside && !opening.users.empty() &&
               std::all_of(opening.users.begin(), opening.users.end(),
                           [owner](const kernel::FileRights& rights) { return rights.own(owner); });
    };
    const auto open = [&](bool withHelp) {
        validate(entry, file.get(), path, opening);
        if ((how & O_PATH) != 0)
            return std::move(file);
        UniqueFd again = openAgain(file.get(), how);
        if (!again && forbidsOpening(errno) && withHelp && opening.usernsd != nullptr)
            again = opening.usernsd->openAgain(file.get(), how & ~O_NOFOLLOW);
        if (!again)
            failErrno("open {}", path);
        return again;
    };
    // The author of the images could claim that any file is the dumped one.
    if (!opening.options.untrusted && isDumpedInode(entry, file.get()))
        return open(true);
    if (isOwn())
        return open(false);
    // Looks up the path again, one component after the other: another user could replace a component between two
    // lookups of the complete path.
    const bool fromOutside = opening.users.empty();
    file = openControlled(path, fromOutside ? Trusted::Unmapped : Trusted::RootOrSelf);
    if (!file)
        refuse(path);
    return open(fromOutside);
}

}  // namespace

OpenedPaths::Key OpenedPaths::keyOf(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check) {
    return {path, flags, check, entry.has_mode != 0 ? std::int64_t{entry.mode} : -1,
            entry.has_size != 0 ? static_cast<std::int64_t>(entry.size) : -1};
}

int OpenedPaths::find(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check) const {
    const auto found = paths_.find(keyOf(entry, path, flags, check));
    return found == paths_.end() ? -1 : found->second.get();
}

void OpenedPaths::add(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check, UniqueFd file) {
    constexpr std::size_t kMost = 8;  // service descriptors
    const auto [at, first] = paths_.try_emplace(keyOf(entry, path, flags, check));
    if (first || at->second || kept_ == kMost)
        return;
    at->second = keep_(std::move(file));
    ++kept_;
}

void OpenedPaths::clear() {
    paths_.clear();
    kept_ = 0;
}

void storeInode(int file, RegFileEntry& out) {
    const Identity identity = Identity::of(file);
    out.has_device = out.has_inode = out.has_born = 1;
    out.device = identity.device;
    out.inode = identity.inode;
    out.born = identity.born;
}

void requireDumpedFile(const RegFileEntry& entry, const std::string& path, const model::Options& options) {
    const PathOpening opening{{}, PathCheck::Same, options};
    const UniqueFd file(::open(path.c_str(), pathOnly(static_cast<int>(entry.flags) & O_NOFOLLOW)));
    if (!file)
        failErrno("open {}", path);
    validate(entry, file.get(), path, opening);
    const bool checksId = entry.n_build_id != 0 && options.fileValidation == model::FileValidation::BuildId &&
                          S_ISREG(statOf(file.get(), path).st_mode);
    if (const UniqueFd content = checksId ? openAgain(file.get(), O_RDONLY | O_CLOEXEC) : UniqueFd(); content)
        validateBuildId(entry, content.get(), path);
}

UniqueFd openPathOf(const RegFileEntry& entry, const std::string& path, int how, const PathOpening& opening) {
    UniqueFd file;
    if (opening.users.empty())
        file = openAsCaller(entry, path, how, opening);
    std::optional<Inode> opened;
    for (const kernel::FileRights& rights : opening.users) {
        // Keeps one descriptor at a time, because each open(2) of /dev/ptmx creates a pseudoterminal with a new number.
        file.reset();
        const kernel::FileRightsScope taken(rights);
        file = openAsCaller(entry, path, how, opening);
        if (!file)
            break;
        const Inode inode = Inode::of(statOf(file.get(), path));
        if (opened && *opened != inode)
            fail("{} was exchanged while it was opened", path);
        opened = inode;
    }
    if (!file)
        file = openWithMore(entry, path, how, opening);
    const bool readable = (how & O_PATH) == 0 && (how & O_ACCMODE) != O_WRONLY;
    if (opening.check == PathCheck::Same && readable && entry.n_build_id != 0 &&
        opening.options.fileValidation == model::FileValidation::BuildId)
        validateBuildId(entry, file.get(), path);
    return file;
}

}  // namespace criu::files
