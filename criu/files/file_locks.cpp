// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/file_locks.hpp"

#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/files/fown.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fown.hpp"

namespace criu::files {
namespace {

// Values of FileLockEntry.flag.
constexpr std::uint32_t kPosix = 1;
constexpr std::uint32_t kFlock = 2;
constexpr std::uint32_t kDescription = 4;
constexpr std::uint32_t kLease = 8;
/// Bit of FileLockEntry.type for a lease that another process is breaking. The low bits then contain the type to which
/// the holder of the lease must reduce it.
constexpr std::uint32_t kBreaking = 4;

std::uint32_t flagOf(kernel::LockKind kind) {
    switch (kind) {
        case kernel::LockKind::Posix:
            return kPosix;
        case kernel::LockKind::Flock:
            return kFlock;
        case kernel::LockKind::Ofd:
            return kDescription;
        case kernel::LockKind::Lease:
            return kLease;
        default:
            return 0;
    }
}

std::uint32_t typeOf(const OpenFd& file, const kernel::FileLock& lock) {
    if (lock.kind == kernel::LockKind::Lease && lock.lease == kernel::LeaseState::Breaking)
        return kBreaking | static_cast<std::uint32_t>(
                               sys(::fcntl(file.copy.get(), F_GETLEASE), "read the lease on {}", file.describe()));
    switch (lock.access) {
        case kernel::LockAccess::Read:
            return F_RDLCK;
        case kernel::LockAccess::Write:
            return F_WRLCK;
        case kernel::LockAccess::Unlock:
            break;
    }
    return F_UNLCK;
}

std::string_view nameOf(std::uint32_t flag) {
    switch (flag) {
        case kPosix:
            return "POSIX lock";
        case kFlock:
            return "flock";
        case kDescription:
            return "open file description lock";
        case kLease:
            return "lease";
        default:
            return "lock of unknown kind";
    }
}

void setFlock(int fd, const FileLockEntry& lock) {
    if (lock.type != F_RDLCK && lock.type != F_WRLCK)
        fail("the {} is of unknown type {}", describeLock(lock), lock.type);
    if (::flock(fd, (lock.type == F_RDLCK ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0)
        failLock(errno, lock);
}

/// Sets a lease with the fsuid of the file's owner, because the kernel permits a lease only to the owner and to
/// CAP_LEASE.
void setLease(int fd, int type, const FileLockEntry& lock) {
    struct stat stat {};
    sys(::fstat(fd, &stat), "look at the file of a lease");
    const kernel::PrctlStateScope kept;
    const int before = ::setfsuid(stat.st_uid);
    const int result = ::fcntl(fd, F_SETLEASE, type);
    const int code = errno;
    ::setfsuid(static_cast<uid_t>(before));
    errno = code;
    if (result < 0)
        failLock(errno, lock);
}

/// Breaks a lease that another process was breaking at the dump. That process isn't restored, so criu itself opens the
/// file with the same access. With O_NONBLOCK, open(2) fails at once (EWOULDBLOCK) instead of waiting until the holder
/// reduces the lease.
void breakLease(int fd, int downTo, const FileLockEntry& lock) {
    const std::string self = fmt::format("/proc/self/fd/{}", fd);
    const int access = downTo == F_RDLCK ? O_RDONLY : O_WRONLY;
    const UniqueFd opened(::open(self.c_str(), access | O_NONBLOCK | O_CLOEXEC));
    if (opened)
        fail("the {} doesn't prevent others from opening the file", describeLock(lock));
    if (errno != EWOULDBLOCK)
        failErrno("break the {}", describeLock(lock));
}

void restoreLease(int fd, const FileLockEntry& lock, const std::optional<FownEntry>& owner) {
    if ((lock.type & kBreaking) == 0) {
        setLease(fd, static_cast<int>(lock.type), lock);
        return;
    }
    const int downTo = static_cast<int>(lock.type & ~kBreaking);
    const int access = sys(::fcntl(fd, F_GETFL), "read the flags of fd {}", fd) & O_ACCMODE;
    setLease(fd, access == O_RDONLY ? F_RDLCK : F_WRLCK, lock);
    // Removes the signal owner for the time of the break, because the process got the signal for the broken lease
    // before the dump.
    sys(::fcntl(fd, F_SETOWN, 0), "take the signal owner from fd {}", fd);
    breakLease(fd, downTo, lock);
    if (owner)
        restoreOwner(fd, *owner);
}

}  // namespace

void LockDump::add(const OpenFd& file, FileId id) {
    for (const kernel::FileLock& lock : file.info.locks)
        if (!lock.blocked)
            addLock(file, id, lock);
}

/// Returns the process that sets the lock at a restore. A POSIX lock belongs to all processes of a descriptor table,
/// but F_GETLK shows the pid of one.
HostPid LockDump::setterOf(const OpenFd& file, const kernel::FileLock& lock) const {
    const HostPid shown(lock.pid);
    const bool shares = lock.kind == kernel::LockKind::Posix && shown != file.pid && sharesTable_(file.pid, shown);
    return shares ? shown : file.pid;
}

void LockDump::addLock(const OpenFd& file, FileId id, const kernel::FileLock& lock) {
    const std::uint32_t flag = flagOf(lock.kind);
    if (flag == 0)
        fail("{} has a lock of a kind that can't be set again (a delegation, or one of old kernels)", file.describe());
    const std::uint64_t whose = flag == kPosix ? static_cast<std::uint64_t>(file.pid.value) : id.value;
    const Key key{flag, whose, lock.devMajor, lock.devMinor, lock.inode, lock.start, lock.end};
    const auto [at, fresh] = locks_.try_emplace(key);
    FileLockEntry& entry = at->second;
    // Prefers the process whose pid the kernel shows for the lock, because this process has set the lock and should set
    // it again.
    const HostPid setter(lock.pid);
    const bool better =
        !file.inFlight && (entry.pid == 0 || (TreePid(entry.pid) != pids_.inside(setter) && file.pid == setter));
    if (fresh) {
        order_.push_back(key);
        entry = FILE_LOCK_ENTRY__INIT;
        entry.flag = flag;
        entry.type = typeOf(file, lock);
        entry.start = static_cast<std::int64_t>(lock.start);
        entry.len = lock.end == kernel::kLockToEof ? 0 : static_cast<std::int64_t>(lock.end - lock.start + 1);
        entry.fd = -1;
        entry.has_file_id = 1;
        entry.file_id = id.value;
    }
    if (better) {
        entry.pid = pids_.inside(setterOf(file, lock)).value;
        entry.fd = file.fd;
        entry.has_file_id = 0;
    }
}

void LockDump::finish(const ImageDir& images) const {
    if (order_.empty())
        return;
    ImageWriter image = images.create(ImageKind::FileLocks);
    for (const Key& key : order_)
        image.write(locks_.at(key));
    image.finish();
}

void LockRestore::load(const ImageDir& images, const std::function<bool(TreePid)>& alive) {
    if (auto reader = images.openRead(ImageKind::FileLocks))
        locks_ = reader->all<FileLockEntry>();
    for (const auto& lock : locks_) {
        if (lock->flag != kPosix && lock->flag != kFlock && lock->flag != kDescription && lock->flag != kLease)
            fail("filelocks.img has a lock of unknown kind {}", lock->flag);
        const bool inFlight = lock->pid == 0 && lock->has_file_id != 0;
        if (!inFlight && !alive(TreePid(lock->pid)))
            fail("filelocks.img has a {} of process {}, which isn't among those of the images", describeLock(*lock),
                 lock->pid);
    }
}

std::vector<const FileLockEntry*> LockRestore::ofDescriptions(TreePid pid) const {
    std::vector<const FileLockEntry*> found;
    for (const auto& lock : locks_)
        if (TreePid(lock->pid) == pid && lock->flag != kPosix)
            found.push_back(lock.get());
    return found;
}

std::vector<const FileLockEntry*> LockRestore::inFlight() const {
    std::vector<const FileLockEntry*> found;
    for (const auto& lock : locks_)
        if (lock->pid == 0 && lock->has_file_id != 0)
            found.push_back(lock.get());
    return found;
}

std::vector<const FileLockEntry*> LockRestore::ofProcess(TreePid pid) const {
    std::vector<const FileLockEntry*> found;
    for (const auto& lock : locks_)
        if (TreePid(lock->pid) == pid && lock->flag == kPosix)
            found.push_back(lock.get());
    return found;
}

void setDescriptionLock(int fd, const FileLockEntry& lock, const std::optional<FownEntry>& owner) {
    switch (lock.flag) {
        case kFlock:
            setFlock(fd, lock);
            return;
        case kDescription: {
            struct flock range = asPosixLock(lock);
            if (::fcntl(fd, F_OFD_SETLK, &range) < 0)
                failLock(errno, lock);
            return;
        }
        case kLease:
            restoreLease(fd, lock, owner);
            return;
        default:
            fail("lock of unknown kind {}", lock.flag);
    }
}

struct flock asPosixLock(const FileLockEntry& lock) {
    struct flock range {};
    range.l_type = static_cast<short>(lock.type);
    range.l_whence = SEEK_SET;
    range.l_start = lock.start;
    range.l_len = lock.len;
    return range;
}

void failLock(int code, const FileLockEntry& lock) {
    Error error(code, fmt::format("set the {}", describeLock(lock)));
    if (code == EAGAIN || code == EACCES)
        error.addHint("another process has the file locked or open");
    throw error;
}

std::string describeLock(const FileLockEntry& lock) {
    return lock.fd >= 0 ? fmt::format("{} on fd {}", nameOf(lock.flag), lock.fd)
                        : fmt::format("{} on file {} in flight", nameOf(lock.flag), lock.file_id);
}

}  // namespace criu::files
