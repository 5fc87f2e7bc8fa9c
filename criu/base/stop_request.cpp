// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/stop_request.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"

namespace criu {
namespace {

bool ignored(int signal) noexcept {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopRequest::StopRequest() {
    sigset_t watched;
    ::sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
        if (!ignored(signal))
            ::sigaddset(&watched, signal);
    fd_.reset(sys(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK), "make a signal descriptor"));
    ::pthread_sigmask(SIG_BLOCK, &watched, &inherited_);
}

StopRequest::~StopRequest() {
    if (!staysBlocked_)
        release();
}

bool StopRequest::requested() noexcept {
    if (signal_.load(std::memory_order_relaxed) != 0)
        return true;
    pollfd waiting{fd_.get(), POLLIN, 0};
    return fd_ && ::poll(&waiting, 1, 0) > 0;
}

int StopRequest::take() noexcept {
    if (!requested())
        return 0;
    const std::lock_guard lock(reading_);
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info)))
        signal_.store(static_cast<int>(info.ssi_signo), std::memory_order_relaxed);
    return signal_.load();
}

void StopRequest::throwIfRequested() {
    if (const int signal = take(); signal != 0)
        throw Error(EINTR, fmt::format("stopped by SIG{}", ::sigabbrev_np(signal)));
}

void StopRequest::release() noexcept {
    if (!fd_)
        return;
    signalfd_siginfo info;
    while (::read(fd_.get(), &info, sizeof(info)) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &inherited_, nullptr);
    fd_.reset();
}

}  // namespace criu
