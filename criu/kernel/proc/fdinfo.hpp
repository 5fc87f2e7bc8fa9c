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

/// File lock from a "lock:" line of fdinfo or a line of /proc/locks; both have the same text.
struct FileLock {
    std::int64_t id = 0;
    /// True for a waiter on the lock of this id, which doesn't hold it.
    bool blocked = false;
    LockKind kind = LockKind::Unknown;
    LockAccess access = LockAccess::Read;
    LeaseState lease = LeaseState::None;
    /// -1 for open file description locks, 0 for an owner outside the pid namespace of the /proc mount.
    pid_t pid = 0;
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    std::uint64_t inode = 0;
    std::uint64_t start = 0;
    /// Last byte; kLockToEof for "EOF".
    std::uint64_t end = 0;
};
inline constexpr std::uint64_t kLockToEof = INT64_MAX;

/// Common fields of /proc/PID/fdinfo/N (proc_pid_fdinfo(5)). `text` is the complete file, for the parsers of each
/// file type below.
struct FdInfo {
    std::int64_t pos = 0;
    /// O_… of open(2), including O_LARGEFILE (kLargeFile of interface.hpp). O_CLOEXEC stands for FD_CLOEXEC.
    std::uint32_t flags = 0;
    /// Unset before Linux 3.15.
    std::optional<int> mountId;
    /// Unset before Linux 5.14.
    std::optional<std::uint64_t> inode;
    /// Number of descriptors in flight in the queues of a Unix socket (Linux 5.15).
    std::optional<std::uint32_t> scmFds;
    std::vector<FileLock> locks;
    std::string text;

    /// Returns the trimmed value of the first line with this key.
    [[nodiscard]] std::optional<std::string_view> value(std::string_view key) const noexcept;
};

[[nodiscard]] FdInfo parseFdInfo(std::string_view text);
/// Reads DIR/fdinfo/FD.
[[nodiscard]] FdInfo readFdInfo(const ProcPid& task, int fd, ProcBuffer& buffer);

/// Parses a line of /proc/locks, or the text after "lock:" in fdinfo.
[[nodiscard]] FileLock parseFileLock(std::string_view line);

struct EventFdInfo {
    std::uint64_t count = 0;
    /// System-wide id of the eventfd (Linux 5.2).
    std::optional<std::int32_t> id;
    /// EFD_SEMAPHORE. Unset before Linux 6.5; then only the task itself can find out.
    std::optional<bool> semaphore;
};
[[nodiscard]] EventFdInfo parseEventFd(std::string_view text);

struct EpollTarget {
    int fd = -1;
    /// EPOLL… bits. An EPOLLONESHOT target that fired has only its private bits.
    std::uint32_t events = 0;
    std::uint64_t data = 0;
    /// Position, inode and device (Linux 4.13) show if `fd` still refers to the added file.
    std::optional<std::int64_t> pos;
    std::optional<std::uint64_t> inode;
    /// Kernel's internal encoding: minor in the low 20 bits.
    std::optional<std::uint32_t> device;
};
[[nodiscard]] std::vector<EpollTarget> parseEpoll(std::string_view text);

/// Returns the mask given to signalfd(2).
[[nodiscard]] SignalMask parseSignalFd(std::string_view text);

/// File handle, as in struct file_handle.
struct FileHandle {
    int type = 0;
    std::vector<std::uint8_t> bytes;
};

struct InotifyWatch {
    int wd = 0;
    std::uint64_t inode = 0;
    /// Device number in the kernel's internal encoding: minor in the low 20 bits.
    std::uint32_t device = 0;
    /// IN_… bits.
    std::uint32_t mask = 0;
    std::uint32_t ignoredMask = 0;
    /// Unset if the file system can't make handles.
    std::optional<FileHandle> handle;
};
[[nodiscard]] std::vector<InotifyWatch> parseInotify(std::string_view text);

enum class FanotifyMarkKind : std::uint8_t { Inode, Mount, Filesystem };

struct FanotifyMark {
    FanotifyMarkKind kind = FanotifyMarkKind::Inode;
    /// Mount marks only.
    int mountId = 0;
    /// Inode marks only.
    std::uint64_t inode = 0;
    /// Inode and file system marks: device in the kernel's internal encoding.
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
    /// TFD_TIMER_… flags of the last timerfd_settime(2).
    int settimeFlags = 0;
    /// Time left; zero if disarmed.
    timespec value{};
    timespec interval{};
};
[[nodiscard]] TimerFdInfo parseTimerFd(std::string_view text);

struct PidFdInfo {
    /// Pid in the pid namespace of the /proc mount; 0 outside of it, -1 after the process was reaped.
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
    /// map_extra, Linux 5.16.
    std::optional<std::uint64_t> extra;
    /// Bytes.
    std::uint64_t memlock = 0;
    std::uint32_t id = 0;
    bool frozen = false;
};
[[nodiscard]] BpfMapInfo parseBpfMap(std::string_view text);

}  // namespace criu::kernel
