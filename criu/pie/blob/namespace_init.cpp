// SPDX-License-Identifier: GPL-2.0-only
// This code runs in a process without libc and criu's data.
#include "criu/pie/namespace_init.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include <compel/blob/syscall.hpp>

namespace {

using compel::blob::syscall;

constexpr long kNoHang = 1;                // WNOHANG
constexpr long kAllChildren = 0x40000000;  // __WALL
constexpr long kSignalBytes = 8;
constexpr int kKilledBy = 128;

[[noreturn]] void end(long status) noexcept {
    for (;;)
        syscall(SYS_exit_group, status);
}

void giveUp(std::uint64_t from, std::uint64_t to) noexcept {
    if (from < to)
        syscall(SYS_munmap, from, to - from);
}

/// Waits until criu reports that the restore has succeeded. Exits if the restore has failed.
void awaitRelease(int channel) noexcept {
    char word = 0;
    for (;;) {
        const long got = syscall(SYS_read, channel, &word, 1);
        if (got == 1)
            break;
        if (got != -EINTR)
            end(1);
    }
    syscall(SYS_close, channel);
}

/// Reaps all ended children. If one of them is `root`, exits with its status.
void reap(int root) noexcept {
    for (;;) {
        int status = 0;
        const long pid = syscall(SYS_wait4, -1, &status, kNoHang | kAllChildren, 0);
        if (pid <= 0)
            return;
        const int signal = status & 0x7f;
        if (pid == root)
            end(signal != 0 ? kKilledBy + signal : status >> 8 & 0xff);
    }
}

/// Returns true if a process outside of the pid namespace sent the signal. The kernel reports pid 0 for such a sender.
bool isFromOutside(const siginfo_t& info) noexcept {
    return info.si_code <= 0 && info.si_pid == 0;
}

bool isForRoot(long signal) noexcept {
    return signal != SIGCHLD && signal != SIGTTIN && signal != SIGTTOU;
}

}  // namespace

extern "C" std::int64_t blob_entry(void* argument) {
    const auto& told = *static_cast<const criu::pie::NamespaceInit*>(argument);
    giveUp(0, told.belowEnd);
    giveUp(told.aboveStart, told.aboveEnd);
    awaitRelease(told.channel);
    const std::uint64_t all = ~std::uint64_t{0};
    for (;;) {
        reap(told.root);
        siginfo_t info;
        const long signal = syscall(SYS_rt_sigtimedwait, &all, &info, 0, kSignalBytes);
        if (signal > 0 && isForRoot(signal) && isFromOutside(info))
            syscall(SYS_kill, told.root, signal);
    }
}
