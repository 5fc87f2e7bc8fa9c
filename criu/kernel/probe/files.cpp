// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/probe/probes.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/kcmp.hpp"

namespace criu::kernel::probe {

namespace {

FdInfo ownFdInfo(const UniqueFd& file) {
    ProcBuffer buffer;
    return readFdInfo(ProcDir().self(), file.get(), buffer);
}

UniqueFd openTun() {
    return UniqueFd(sys(::open("/dev/net/tun", O_RDWR | O_CLOEXEC), "open /dev/net/tun"));
}

}  // namespace

bool mountIdInFdinfo() {
    const UniqueFd root(sys(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open /"));
    return ownFdInfo(root).mountId.has_value();
}

bool locksInFdinfo() {
    const UniqueFd file(sys(::memfd_create("criu-probe", MFD_CLOEXEC), "create a memfd"));
    sys(::flock(file.get(), LOCK_EX), "lock a memfd");
    const FdInfo info = ownFdInfo(file);
    return info.locks.size() == 1 && info.locks[0].kind == LockKind::Flock && info.locks[0].access == LockAccess::Write;
}

bool timerfdTicks() {
    const UniqueFd timer(sys(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "create a timerfd"));
    const std::uint64_t ticks = 3;
    constexpr unsigned long setTicks = _IOW('T', 0, std::uint64_t);  // TFD_IOC_SET_TICKS of <linux/timerfd.h>
    return ::ioctl(timer.get(), setTicks, &ticks) == 0 && parseTimerFd(ownFdInfo(timer).text).ticks == ticks;
}

bool tun() {
    // Probes with TUNSETIFINDEX, which changes nothing: the kernel only stores the index for a later TUNSETIFF.
    const int index = 7;
    return ::ioctl(openTun().get(), TUNSETIFINDEX, &index) == 0;
}

bool tunNetNs() {
    const UniqueFd tun = openTun();
    return UniqueFd(::ioctl(tun.get(), SIOCGSKNS)).valid();
}

bool kcmpEpoll() {
    const UniqueFd target(sys(::eventfd(0, EFD_CLOEXEC), "create an eventfd"));
    const UniqueFd poll(sys(::epoll_create1(EPOLL_CLOEXEC), "create an epoll file"));
    epoll_event event{};
    event.events = EPOLLIN;
    sys(::epoll_ctl(poll.get(), EPOLL_CTL_ADD, target.get(), &event), "add an epoll target");
    const EpollSlot slot{static_cast<std::uint32_t>(poll.get()), static_cast<std::uint32_t>(target.get()), 0};
    return kcmpEpollTarget(::getpid(), target.get(), ::getpid(), slot) == std::partial_ordering::equivalent;
}

bool openat2() {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS;
    return UniqueFd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how)))).valid();
}

bool closeRange() {
    // The range contains no open descriptor, so the call closes nothing.
    return ::syscall(SYS_close_range, ~0U, ~0U, 0) == 0;
}

bool inotifyNextWd() {
    const UniqueFd watcher(sys(::inotify_init1(IN_CLOEXEC), "create an inotify file"));
    // Value of INOTIFY_IOC_SETNEXTWD. <linux/inotify.h>, which defines it, can't be included together with
    // <sys/inotify.h>.
    constexpr unsigned long setNextWd = _IOW('I', 0, std::int32_t);
    return ::ioctl(watcher.get(), setNextWd, 7) == 0;
}

}  // namespace criu::kernel::probe
