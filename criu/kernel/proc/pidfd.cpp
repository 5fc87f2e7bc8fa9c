// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/pidfd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {

namespace {

constexpr idtype_t kWaitPidFd = static_cast<idtype_t>(3);  // P_PIDFD, Linux 5.4
constexpr unsigned kThread = O_EXCL;                       // PIDFD_THREAD of <linux/pidfd.h>

}  // namespace

PidFd::PidFd(pid_t pid)
    : fd_(static_cast<int>(sys(::syscall(SYS_pidfd_open, pid, 0), "open a pidfd of {}", pid))), pid_(pid) {}

PidFd PidFd::ofTask(pid_t tid) {
    if (const auto fd = ::syscall(SYS_pidfd_open, tid, 0); fd >= 0 || (errno != EINVAL && errno != ENOENT))
        return {UniqueFd(static_cast<int>(sys(fd, "open a pidfd of {}", tid))), tid};
    return {UniqueFd(static_cast<int>(
                sys(::syscall(SYS_pidfd_open, tid, kThread), "open a pidfd of thread {} (needs Linux 6.9)", tid))),
            tid};
}

UniqueFd PidFd::getFd(int targetFd) const {
    return UniqueFd(static_cast<int>(
        sys(::syscall(SYS_pidfd_getfd, fd_.get(), targetFd, 0), "get fd {} of process {}", targetFd, pid_)));
}

bool PidFd::sendSignal(int signal, siginfo_t* info) const {
    if (::syscall(SYS_pidfd_send_signal, fd_.get(), signal, info, 0) == 0)
        return true;
    if (errno == ESRCH)
        return false;
    failErrno("send signal {} to process {}", signal, pid_);
}

int PidFd::freeMemory() const noexcept {
    return ::syscall(SYS_process_mrelease, fd_.get(), 0) == 0 ? 0 : errno;
}

bool PidFd::waitExit(std::optional<std::chrono::milliseconds> timeout) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout.value_or(std::chrono::milliseconds(0));
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        pollfd entry{fd_.get(), POLLIN, 0};
        const int ready = ::poll(&entry, 1, left > 0 ? static_cast<int>(left) : 0);
        if (ready >= 0)
            return ready > 0;
        if (errno != EINTR)
            failErrno("wait for the end of process {}", pid_);
    }
}

siginfo_t PidFd::wait(int options) const {
    siginfo_t info{};
    while (::waitid(kWaitPidFd, static_cast<id_t>(fd_.get()), &info, options) < 0)
        if (errno != EINTR)
            failErrno("wait for child {}", pid_);
    return info;
}

}  // namespace criu::kernel
