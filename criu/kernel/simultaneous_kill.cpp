// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/simultaneous_kill.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

constexpr int kAccess = O_RDWR | O_NONBLOCK | O_CLOEXEC;

/// Opens the pipe for reading and writing.
UniqueFd reopen(const UniqueFd& pipe) {
    const std::string path = fmt::format("/proc/self/fd/{}", pipe.get());
    return UniqueFd(sys(::open(path.c_str(), kAccess), "open a pipe again"));
}

UniqueFd makePipe() {
    int ends[2];
    sys(::pipe2(ends, O_CLOEXEC), "make a pipe");
    const UniqueFd reading(ends[0]);
    const UniqueFd writing(ends[1]);
    return reopen(reading);
}

}  // namespace

SimultaneousKill::SimultaneousKill(std::span<const pid_t> processes) {
    // The constructor sets O_ASYNC only after the two ends of pipe2(2) are closed. Otherwise the kernel would signal
    // the owners when it closes the last of these ends.
    ends_.reserve(processes.size() + 1);
    ends_.push_back(makePipe());
    for (const pid_t process : processes) {
        UniqueFd end = reopen(ends_.front());
        const f_owner_ex owner{F_OWNER_PID, process};
        sys(::fcntl(end.get(), F_SETOWN_EX, &owner), "make process {} the signal owner of a pipe", process);
        sys(::fcntl(end.get(), F_SETSIG, SIGKILL), "set the signal of a pipe");
        sys(::fcntl(end.get(), F_SETFL, kAccess | O_ASYNC), "have a pipe send signals");
        ends_.push_back(std::move(end));
    }
}

void SimultaneousKill::send() {
    const char byte = 0;
    const ssize_t written = ::write(ends_.front().get(), &byte, sizeof(byte));
    if (written != sizeof(byte))
        failErrno("kill processes by a pipe");
}

}  // namespace criu::kernel
