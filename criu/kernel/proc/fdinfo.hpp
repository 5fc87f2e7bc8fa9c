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

/// One "lock:" line of fdinfo, or a line of /proc/locks: the same text.
struct FileLock {
    std::int64_t id = 0;
    /// A waiter for the lock of this id, not a holder.
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

/// /proc/PID/fdinfo/N (proc_pid_fdinfo(5)): what every file has. `text` is the whole, for the parsers of each kind
/// below.
struct FdInfo {
    std::int64_t pos = 0;
    /// O_… of open(2); O_CLOEXEC if the descriptor has FD_CLOEXEC. Has O_LARGEFILE (kLargeFile of interface.hpp).
    std::uint32_t flags = 0;
    /// Absent on kernels before 3.15.
    std::optional<int> mountId;
    /// Absent on kernels before 5.14.
    std::optional<std::uint64_t> inode;
    /// Descriptors in flight in a unix socket's queues (5.15).
    std::optional<std::uint32_t> scmFds;
    std::vector<FileLock> locks;
    std::string text;

    /// What stands behind "key:" (blanks trimmed) on the first such line.
    [[nodiscard]] std::optional<std::string_view> value(std::string_view key) const noexcept;
};

[[nodiscard]] FdInfo parseFdInfo(std::string_view text);
/// Reads DIR/fdinfo/FD.
[[nodiscard]] FdInfo readFdInfo(const ProcPid& task, int fd, ProcBuffer& buffer);

/// A line of /proc/locks, or what follows "lock:" in fdinfo.
[[nodiscard]] FileLock parseFileLock(std::string_view line);

struct EventFdInfo {
    std::uint64_t count = 0;
    /// Number of the eventfd in the system (5.2).
    std::optional<std::int32_t> id;
    /// EFD_SEMAPHORE; absent before 6.5, then it must be found out from the task itself.
    std::optional<bool> semaphore;
};
[[nodiscard]] EventFdInfo parseEventFd(std::string_view text);

struct EpollTarget {
    int fd = -1;
    /// EPOLL… bits; an EPOLLONESHOT target that fired shows only its private bits.
    std::uint32_t events = 0;
    std::uint64_t data = 0;
    /// Position, inode and device (Linux 4.13) show whether `fd` still is the file that was added.
    std::optional<std::int64_t> pos;
    std::optional<std::uint64_t> inode;
    /// Kernel's internal form: minor in the low 20 bits.
    std::optional<std::uint32_t> device;
};
[[nodiscard]] std::vector<EpollTarget> parseEpoll(std::string_view text);

/// The mask given to signalfd(2).
[[nodiscard]] SignalMask parseSignalFd(std::string_view text);

/// As in struct file_handle.
struct FileHandle {
    int type = 0;
    std::vector<std::uint8_t> bytes;
};

struct InotifyWatch {
    int wd = 0;
    std::uint64_t inode = 0;
    /// Kernel's internal form of the device number: minor in the low 20 bits.
    std::uint32_t device = 0;
    /// IN_… bits.
    std::uint32_t mask = 0;
    std::uint32_t ignoredMask = 0;
    /// Absent if the file system can't make handles.
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
    /// Inode and file system marks: device in the kernel's internal form.
    std::uint32_t device = 0;
    /// FAN_MARK_IGNORED_SURV_MODIFY and the like.
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
    /// TFD_TIMER_… as last given to timerfd_settime(2).
    int settimeFlags = 0;
    /// Time left; zero when disarmed.
    timespec value{};
    timespec interval{};
};
[[nodiscard]] TimerFdInfo parseTimerFd(std::string_view text);

struct PidFdInfo {
    /// In the /proc mount's pid namespace; 0 if outside of it, -1 once the process was reaped.
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
    /// 5.16.
    std::optional<std::uint64_t> extra;
    /// Bytes.
    std::uint64_t memlock = 0;
    std::uint32_t id = 0;
    bool frozen = false;
};
[[nodiscard]] BpfMapInfo parseBpfMap(std::string_view text);

/// Name of the network interface of a /dev/net/tun file; empty when it has none.
[[nodiscard]] std::string parseTunInterface(std::string_view text);

}  // namespace criu::kernel
