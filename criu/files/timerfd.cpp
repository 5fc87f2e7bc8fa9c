// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/anonymous_kinds.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "images/fdinfo.hpp"
#include "images/timerfd.hpp"

namespace criu::files {
namespace {

constexpr unsigned long kSetTicks = _IOW('T', 0, std::uint64_t);  // TFD_IOC_SET_TICKS, Linux 3.17
constexpr long kNanoseconds = 1'000'000'000;

bool isZero(const timespec& time) {
    return time.tv_sec == 0 && time.tv_nsec == 0;
}

/// Returns the clock on which an alarm clock is based, because reading an alarm clock itself requires a real-time clock
/// device.
clockid_t readableClock(clockid_t clock) {
    if (clock == CLOCK_REALTIME_ALARM)
        return CLOCK_REALTIME;
    return clock == CLOCK_BOOTTIME_ALARM ? CLOCK_BOOTTIME : clock;
}

timespec after(clockid_t clock, const timespec& left) {
    timespec at{};
    sys(::clock_gettime(readableClock(clock), &at), "read clock {}", clock);
    at.tv_sec += left.tv_sec;
    at.tv_nsec += left.tv_nsec;
    if (at.tv_nsec >= kNanoseconds) {
        at.tv_nsec -= kNanoseconds;
        ++at.tv_sec;
    }
    return at;
}

class RestoredTimerFd final : public RestoredFile {
public:
    explicit RestoredTimerFd(const TimerfdEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override { return "timerfd"; }

    void open(FileOpener& opener) override {
        UniqueFd fd(sys(::timerfd_create(clock(), TFD_CLOEXEC), "create timerfd for clock {}", clock()));
        const int flags = static_cast<int>(entry_.flags);
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of timerfd", flags);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    /// Arms the timer as late as possible, so that little time of the restore counts for the timer.
    void complete(PlacedFiles& files) override {
        const int fd = files.find(FileId{entry_.id});
        itimerspec setting{};
        setting.it_value = {static_cast<time_t>(entry_.vsec), static_cast<long>(entry_.vnsec)};
        setting.it_interval = {static_cast<time_t>(entry_.isec), static_cast<long>(entry_.insec)};
        // If the remaining time is zero and `ticks` isn't, the timer had expired, and the process hadn't read it. The
        // kernel restarts a periodic timer only when a process reads it (timerfd_read() in fs/timerfd.c). Images of
        // CRIU don't contain the elapsed part of the interval, so criu starts a new interval.
        if (isZero(setting.it_value) && entry_.ticks != 0)
            setting.it_value = setting.it_interval;
        // The kernel also shows flags and interval of the last call for a timer that isn't armed.
        const auto flags = static_cast<int>(entry_.settime_flags);
        if (!isZero(setting.it_value) || !isZero(setting.it_interval) || flags != 0) {
            if ((flags & TFD_TIMER_ABSTIME) != 0 && !isZero(setting.it_value))
                setting.it_value = after(clock(), setting.it_value);
            sys(::timerfd_settime(fd, flags, &setting, nullptr), "arm timerfd of clock {} with flags {:#x}", clock(),
                flags);
        }
        if (const std::uint64_t ticks = entry_.ticks; ticks != 0)
            sys(::ioctl(fd, kSetTicks, &ticks), "set {} expirations of timerfd", ticks);
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    [[nodiscard]] clockid_t clock() const { return static_cast<clockid_t>(entry_.clockid); }

    const TimerfdEntry& entry_;
};

class TimerFdKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[timerfd]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        const kernel::TimerFdInfo info = read(file);
        auto& out = *dump.arena().make<TimerfdEntry>();
        entry.tfd = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        out.clockid = static_cast<std::uint32_t>(info.clockId);
        out.ticks = info.ticks;
        out.settime_flags = static_cast<std::uint32_t>(info.settimeFlags);
        out.vsec = static_cast<std::uint64_t>(info.value.tv_sec);
        out.vnsec = static_cast<std::uint64_t>(info.value.tv_nsec);
        out.isec = static_cast<std::uint64_t>(info.interval.tv_sec);
        out.insec = static_cast<std::uint64_t>(info.interval.tv_nsec);
    }

private:
    static kernel::TimerFdInfo read(const OpenFd& file) {
        kernel::TimerFdInfo info = kernel::parseTimerFd(file.info.text);
        if (!isZero(info.value) || isZero(info.interval))
            return info;
        // The kernel restarts an expired periodic timer when a process reads or queries it. criu's query has this
        // effect, too: it makes expirations and remaining time exact, and changes nothing that the process could see.
        itimerspec now{};
        sys(::timerfd_gettime(file.copy.get(), &now), "read the time left of {}", file.describe());
        kernel::ProcBuffer buffer;
        const kernel::FdInfo again = kernel::readFdInfo(kernel::ProcDir().self(), file.copy.get(), buffer);
        return kernel::parseTimerFd(again.text);
    }
};

class TimerFdKindRestore final : public FileKindRestore {
public:
    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.tfd == nullptr)
            fail("file {} is a timerfd without data", entry.id);
        return std::make_shared<RestoredTimerFd>(*entry.tfd);
    }
};

}  // namespace

std::unique_ptr<FileKindDump> makeTimerFdDump() {
    return std::make_unique<TimerFdKindDump>();
}

std::unique_ptr<FileKindRestore> makeTimerFdRestore() {
    return std::make_unique<TimerFdKindRestore>();
}

}  // namespace criu::files
