// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/fdinfo.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <span>

#include "criu/base/hex.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

std::string_view trimmedRest(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n'))
        text.remove_suffix(1);
    return text;
}

std::optional<std::string_view> findValue(std::string_view text, std::string_view key) noexcept {
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        Scanner scan(line);
        if (scan.skip(key) && scan.skip(':'))
            return trimmedRest(scan.rest());
    }
    return std::nullopt;
}

template <typename Number>
std::optional<Number> findNumber(std::string_view text, std::string_view key, int base = 10) {
    const auto value = findValue(text, key);
    if (!value)
        return std::nullopt;
    return parseLoneNumber<Number>(*value, key, base);
}

template <typename Number>
Number needField(std::string_view text, std::string_view key, int base = 10) {
    const auto value = findNumber<Number>(text, key, base);
    if (!value)
        fail("line {}: is missing", key);
    return *value;
}

/// Finds "key:value" in the rest of a line that consists of such pairs. Skips unknown pairs, because newer kernels may
/// insert some.
template <typename Number>
bool findPair(Scanner& scan, std::string_view key, Number& out, int base) {
    Scanner ahead = scan;
    for (;;) {
        ahead.blanks();
        if (ahead.done())
            return false;
        if (ahead.skip(key) && ahead.skip(':')) {
            ahead.needNumber(out, key, base);
            scan = ahead;
            return true;
        }
        ahead.word();
    }
}

template <typename Number>
void needPair(Scanner& scan, std::string_view key, Number& out, int base) {
    if (!findPair(scan, key, out, base))
        scan.expected(key);
}

/// Parses "fhandle-bytes:8 fhandle-type:1 f_handle:0102…"; all numbers are hexadecimal.
std::optional<FileHandle> parseHandle(Scanner& scan) {
    std::size_t size = 0;
    if (!findPair(scan, "fhandle-bytes", size, 16))
        return std::nullopt;
    constexpr std::size_t maxHandle = 128;  // MAX_HANDLE_SZ
    if (size > maxHandle)
        fail("a file handle of {} bytes", size);
    FileHandle handle;
    needPair(scan, "fhandle-type", handle.type, 16);
    scan.blanks();
    scan.need("f_handle:", "a file handle");
    const std::string_view digits = scan.word();
    if (digits.size() < size * 2)
        fail("file handle has {} digits instead of {}", digits.size(), size * 2);
    handle.bytes.resize(size);
    if (!parseHex(digits.substr(0, size * 2), std::as_writable_bytes(std::span(handle.bytes))))
        fail("file handle \"{}\" isn't hexadecimal", digits);
    return handle;
}

LockKind lockKind(std::string_view word) noexcept {
    if (word == "POSIX")
        return LockKind::Posix;
    if (word == "OFDLCK")
        return LockKind::Ofd;
    if (word == "FLOCK")
        return LockKind::Flock;
    if (word == "LEASE")
        return LockKind::Lease;
    if (word == "DELEG")
        return LockKind::Delegation;
    if (word == "LAYOUT")
        return LockKind::Layout;
    if (word == "ACCESS")
        return LockKind::Access;
    return LockKind::Unknown;
}

LeaseState leaseState(std::string_view word) noexcept {
    if (word == "ACTIVE")
        return LeaseState::Active;
    if (word == "BREAKING")
        return LeaseState::Breaking;
    if (word == "BREAKER")
        return LeaseState::Breaker;
    return LeaseState::None;
}

LockAccess lockAccess(std::string_view word) {
    if (word == "READ" || word == "RW" || word == "NONE")
        return LockAccess::Read;
    if (word == "WRITE")
        return LockAccess::Write;
    if (word == "UNLCK")
        return LockAccess::Unlock;
    fail("lock access \"{}\" is unknown", word);
}

/// Parses "(seconds, nanoseconds)".
timespec parseTime(std::string_view text, std::string_view key) {
    const auto value = findValue(text, key);
    if (!value)
        fail("line {}: is missing", key);
    Scanner scan(*value);
    timespec time{};
    scan.need('(', "(seconds, nanoseconds)");
    scan.needNumber(time.tv_sec, "seconds");
    scan.need(',', "a comma");
    scan.needNumber(time.tv_nsec, "nanoseconds");
    scan.need(')', "a closing parenthesis");
    return time;
}

}  // namespace

std::optional<std::string_view> FdInfo::value(std::string_view key) const noexcept {
    return findValue(text, key);
}

FdInfo parseFdInfo(std::string_view text) {
    FdInfo info;
    bool sawPos = false;
    bool sawFlags = false;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        Scanner value(line);
        const std::string_view key = value.until(':');
        if (!value.skip(':'))
            continue;
        if (key == "pos") {
            value.needNumber(info.pos, "a position");
            sawPos = true;
        } else if (key == "flags" && !sawFlags) {
            value.needNumber(info.flags, "octal flags", 8);
            sawFlags = true;
        } else if (key == "mnt_id") {
            info.mountId = value.needNumber<int>("a mount id");
        } else if (key == "ino") {
            info.inode = value.needNumber<std::uint64_t>("an inode number");
        } else if (key == "scm_fds") {
            info.scmFds = value.needNumber<std::uint32_t>("a number of descriptors");
        } else if (key == "lock") {
            info.locks.push_back(parseFileLock(value.rest()));
        }
    }
    if (!sawPos || !sawFlags)
        fail("line {}: is missing", sawPos ? "flags" : "pos");
    info.text = text;
    return info;
}

FdInfo readFdInfo(const ProcPid& task, int fd, ProcBuffer& buffer) {
    const std::string name = fmt::format("fdinfo/{}", fd);
    // Reads most files by one read(2). Such a file has one seq_file record, and the kernel returns this record
    // completely if the buffer is large enough.
    std::array<char, 4096> text;
    const UniqueFd file = task.open(name, O_RDONLY);
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    const ErrorContext context([&] { return task.path() + '/' + name; });
    if (got > 0 && static_cast<std::size_t>(got) < text.size())
        return parseFdInfo({text.data(), static_cast<std::size_t>(got)});
    return parseFdInfo(task.read(name, buffer));
}

FileLock parseFileLock(std::string_view line) {
    FileLock lock;
    Scanner scan(line);
    scan.needNumber(lock.id, "a lock's number");
    scan.need(':', "a colon");
    scan.blanks();
    lock.blocked = scan.skip("->");
    lock.kind = lockKind(scan.word());
    const std::string_view detail = scan.word();  // ADVISORY, MANDATORY or *NOINODE*, or the state of a lease
    lock.lease = leaseState(detail);
    lock.access = lockAccess(scan.word());
    scan.needNumber(lock.pid, "a pid");
    scan.blanks();
    if (!scan.skip("<none>:0")) {
        scan.needNumber(lock.devMajor, "major device number", 16);
        scan.need(':', "a colon");
        scan.needNumber(lock.devMinor, "minor device number", 16);
        scan.need(':', "a colon");
        scan.needNumber(lock.inode, "an inode number");
    }
    scan.needNumber(lock.start, "first byte");
    scan.blanks();
    if (scan.skip("EOF"))
        lock.end = kLockToEof;
    else
        scan.needNumber(lock.end, "last byte");
    return lock;
}

EventFdInfo parseEventFd(std::string_view text) {
    EventFdInfo info;
    info.count = needField<std::uint64_t>(text, "eventfd-count", 16);
    info.id = findNumber<std::int32_t>(text, "eventfd-id");
    if (const auto semaphore = findNumber<int>(text, "eventfd-semaphore"))
        info.semaphore = *semaphore != 0;
    return info;
}

std::vector<EpollTarget> parseEpoll(std::string_view text) {
    std::vector<EpollTarget> targets;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        Scanner scan(line);
        if (!scan.skip("tfd:"))
            continue;
        EpollTarget target;
        scan.needNumber(target.fd, "a descriptor");
        needPair(scan, "events", target.events, 16);
        needPair(scan, "data", target.data, 16);
        if (std::int64_t pos = 0; findPair(scan, "pos", pos, 10))
            target.pos = pos;
        if (std::uint64_t inode = 0; findPair(scan, "ino", inode, 16))
            target.inode = inode;
        if (std::uint32_t device = 0; findPair(scan, "sdev", device, 16))
            target.device = device;
        targets.push_back(target);
    }
    return targets;
}

SignalMask parseSignalFd(std::string_view text) {
    return needField<SignalMask>(text, "sigmask", 16);
}

std::vector<InotifyWatch> parseInotify(std::string_view text) {
    std::vector<InotifyWatch> watches;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        Scanner scan(line);
        if (!scan.skip("inotify "))
            continue;
        InotifyWatch watch;
        // The numbers are hexadecimal, although the manual page says that they are decimal.
        needPair(scan, "wd", watch.wd, 16);
        needPair(scan, "ino", watch.inode, 16);
        needPair(scan, "sdev", watch.device, 16);
        needPair(scan, "mask", watch.mask, 16);
        needPair(scan, "ignored_mask", watch.ignoredMask, 16);
        watch.handle = parseHandle(scan);
        watches.push_back(std::move(watch));
    }
    return watches;
}

FanotifyInfo parseFanotify(std::string_view text) {
    FanotifyInfo info;
    bool sawGroup = false;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        Scanner scan(line);
        if (!scan.skip("fanotify "))
            continue;
        if (scan.rest().starts_with("flags:")) {
            needPair(scan, "flags", info.flags, 16);
            needPair(scan, "event-flags", info.eventFlags, 16);
            sawGroup = true;
            continue;
        }
        FanotifyMark mark;
        if (scan.rest().starts_with("mnt_id:")) {
            mark.kind = FanotifyMarkKind::Mount;
            needPair(scan, "mnt_id", mark.mountId, 16);
        } else if (scan.rest().starts_with("sdev:")) {
            mark.kind = FanotifyMarkKind::Filesystem;
            needPair(scan, "sdev", mark.device, 16);
        } else {
            needPair(scan, "ino", mark.inode, 16);
            needPair(scan, "sdev", mark.device, 16);
        }
        needPair(scan, "mflags", mark.flags, 16);
        needPair(scan, "mask", mark.mask, 16);
        needPair(scan, "ignored_mask", mark.ignoredMask, 16);
        mark.handle = parseHandle(scan);
        info.marks.push_back(std::move(mark));
    }
    if (!sawGroup)
        fail("line \"fanotify flags:\" is missing");
    return info;
}

TimerFdInfo parseTimerFd(std::string_view text) {
    TimerFdInfo info;
    info.clockId = needField<int>(text, "clockid");
    info.ticks = needField<std::uint64_t>(text, "ticks");
    info.settimeFlags = needField<int>(text, "settime flags", 8);
    info.value = parseTime(text, "it_value");
    info.interval = parseTime(text, "it_interval");
    return info;
}

PidFdInfo parsePidFd(std::string_view text) {
    PidFdInfo info;
    info.pid = needField<pid_t>(text, "Pid");
    if (const auto list = findValue(text, "NSpid")) {
        Scanner scan(*list);
        pid_t pid = 0;
        while (scan.number(pid))
            info.nsPid.push_back(pid);
    }
    return info;
}

BpfMapInfo parseBpfMap(std::string_view text) {
    BpfMapInfo info;
    info.type = needField<std::uint32_t>(text, "map_type");
    info.keySize = needField<std::uint32_t>(text, "key_size");
    info.valueSize = needField<std::uint32_t>(text, "value_size");
    info.maxEntries = needField<std::uint32_t>(text, "max_entries");
    const auto hexOf = [&](std::string_view key) -> std::optional<std::uint64_t> {
        const auto value = findValue(text, key);
        if (!value)
            return std::nullopt;
        Scanner scan(*value);
        scan.skip("0x");
        return scan.needNumber<std::uint64_t>(key, 16);
    };
    const auto flags = hexOf("map_flags");
    if (!flags)
        fail("line map_flags: is missing");
    info.flags = static_cast<std::uint32_t>(*flags);
    info.extra = hexOf("map_extra");
    info.memlock = needField<std::uint64_t>(text, "memlock");
    info.id = needField<std::uint32_t>(text, "map_id");
    info.frozen = findNumber<int>(text, "frozen").value_or(0) != 0;
    return info;
}

}  // namespace criu::kernel
