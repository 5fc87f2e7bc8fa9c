// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::kernel {

enum class LockKind : std::uint8_t { Posix, Ofd, Flock, Lease, Delegation, Layout, Access, Unknown };
enum class LockAccess : std::uint8_t { Read, Write, Unlock };
enum class LeaseState : std::uint8_t { None, Active, Breaking, Breaker };

/// File lock from a "lock:" line of fdinfo or from a line of /proc/locks. Both have the same format.
struct FileLock {
    std::int64_t id = 0;
    /// True if the owner doesn't have the lock, but waits for the lock with this id.
    bool blocked = false;
    LockKind kind = LockKind::Unknown;
    LockAccess access = LockAccess::Read;
    LeaseState lease = LeaseState::None;
    /// Pid of the owner; -1 for open file description locks, 0 if the owner is outside of the pid namespace of the
    /// /proc mount.
    pid_t pid = 0;
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    std::uint64_t inode = 0;
    std::uint64_t start = 0;
    /// Offset of the last locked byte; kLockToEof for "EOF".
    std::uint64_t end = 0;
};
inline constexpr std::uint64_t kLockToEof = INT64_MAX;

/// Common fields of /proc/PID/fdinfo/N (proc_pid_fdinfo(5)). `text`: complete file. The other parsers of this header
/// read the fields of one file type from it.
struct FdInfo {
    std::int64_t pos = 0;
    /// O_… flags of open(2), including O_LARGEFILE (kLargeFile). O_CLOEXEC here means that the descriptor has
    /// FD_CLOEXEC.
    std::uint32_t flags = 0;
    /// Id of the mount by which the file was opened. Unset before Linux 3.15.
    std::optional<int> mountId;
    /// Inode of the file. Unset before Linux 5.14.
    std::optional<std::uint64_t> inode;
    /// Number of descriptors in flight in the queues of a Unix socket (Linux 5.15).
    std::optional<std::uint32_t> scmFds;
    std::vector<FileLock> locks;
    std::string text;

    /// Returns the value of the first line with this key, without leading and trailing blanks.
    [[nodiscard]] std::optional<std::string_view> value(std::string_view key) const noexcept;
};

[[nodiscard]] FdInfo parseFdInfo(std::string_view text);
/// Reads and parses the fdinfo of the descriptor `fd`.
[[nodiscard]] FdInfo readFdInfo(const ProcPid& task, int fd, ProcBuffer& buffer);

/// Parses a line of /proc/locks, or the text after "lock:" in fdinfo.
[[nodiscard]] FileLock parseFileLock(std::string_view line);

struct EventFdInfo {
    std::uint64_t count = 0;
    /// System-wide id of the eventfd (Linux 5.2).
    std::optional<std::int32_t> id;
    /// True if the eventfd was created with EFD_SEMAPHORE. Unset before Linux 6.5, because the kernel doesn't show it
    /// there.
    std::optional<bool> semaphore;
};
[[nodiscard]] EventFdInfo parseEventFd(std::string_view text);

struct EpollTarget {
    int fd = -1;
    /// EPOLL… bits. After an event, an EPOLLONESHOT target has no event bits, only bits such as EPOLLONESHOT itself.
    std::uint32_t events = 0;
    std::uint64_t data = 0;
    /// Position, inode and device of the file that was added (Linux 4.13). They show whether `fd` still refers to this
    /// file.
    std::optional<std::int64_t> pos;
    std::optional<std::uint64_t> inode;
    /// Device in the kernel's internal encoding: minor number in the low 20 bits.
    std::optional<std::uint32_t> device;
};
[[nodiscard]] std::vector<EpollTarget> parseEpoll(std::string_view text);

/// Returns the mask that the task passed to signalfd(2).
[[nodiscard]] SignalMask parseSignalFd(std::string_view text);

/// File handle (struct file_handle of open_by_handle_at(2)).
struct FileHandle {
    int type = 0;
    std::vector<std::uint8_t> bytes;
};

struct InotifyWatch {
    int wd = 0;
    std::uint64_t inode = 0;
    /// Device number in the kernel's internal encoding: minor number in the low 20 bits.
    std::uint32_t device = 0;
    /// IN_… bits.
    std::uint32_t mask = 0;
    std::uint32_t ignoredMask = 0;
    /// Unset if the file system can't make file handles.
    std::optional<FileHandle> handle;
};
[[nodiscard]] std::vector<InotifyWatch> parseInotify(std::string_view text);

enum class FanotifyMarkKind : std::uint8_t { Inode, Mount, Filesystem };

struct FanotifyMark {
    FanotifyMarkKind kind = FanotifyMarkKind::Inode;
    /// Id of the marked mount; 0 for other kinds of marks.
    int mountId = 0;
    /// Number of the marked inode; 0 for other kinds of marks.
    std::uint64_t inode = 0;
    /// Device of the marked inode or file system, in the kernel's internal encoding; 0 for marks on mounts.
    std::uint32_t device = 0;
    /// FAN_MARK_… flags such as FAN_MARK_IGNORED_SURV_MODIFY.
    std::uint32_t flags = 0;
    std::uint32_t mask = 0;
    std::uint32_t ignoredMask = 0;
    std::optional<FileHandle> handle;
};

struct FanotifyInfo {
    /// Flags of fanotify_init(2).
    std::uint32_t flags = 0;
    std::uint32_t eventFlags = 0;
    std::vector<FanotifyMark> marks;
};
[[nodiscard]] FanotifyInfo parseFanotify(std::string_view text);

struct TimerFdInfo {
    int clockId = 0;
    std::uint64_t ticks = 0;
    /// TFD_TIMER_… flags of the most recent timerfd_settime(2).
    int settimeFlags = 0;
    /// Time until the next expiration; zero if the timer is disarmed.
    timespec value{};
    timespec interval{};
};
[[nodiscard]] TimerFdInfo parseTimerFd(std::string_view text);

struct PidFdInfo {
    /// Pid in the pid namespace of the /proc mount; 0 if this namespace doesn't contain the process, -1 after the
    /// process was reaped.
    pid_t pid = 0;
    std::vector<pid_t> nsPid;
};
[[nodiscard]] PidFdInfo parsePidFd(std::string_view text);

struct BpfMapInfo {
    std::uint32_t type = 0;
    std::uint32_t keySize = 0;
    std::uint32_t valueSize = 0;
    std::uint32_t maxEntries = 0;
    std::uint32_t flags = 0;
    /// map_extra of struct bpf_attr; unset before Linux 5.16.
    std::optional<std::uint64_t> extra;
    /// Memory that the kernel accounts for the map, in bytes.
    std::uint64_t memlock = 0;
    std::uint32_t id = 0;
    bool frozen = false;
};
[[nodiscard]] BpfMapInfo parseBpfMap(std::string_view text);

}  // namespace criu::kernel
