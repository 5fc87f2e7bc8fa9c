// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a blocked pending SIGCHLD is there exactly once, with its siginfo") {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    SYS(sigprocmask(SIG_BLOCK, &blocked, nullptr));
    const std::span<std::byte> memory = zdtm::map(std::size_t{4} << 20);
    zdtm::fill(memory, 3);
    constexpr int kStatus = 7;
    const pid_t child = SYS(fork());
    if (child == 0) {
        _exit(kStatus);
    }
    CHECK(WEXITSTATUS(zdtm::wait_status(child)) == kStatus, "the child's status");
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 3) < 0, "the data changed");
    siginfo_t info{};
    const timespec none{};
    CHECK(sigtimedwait(&blocked, &info, &none) == SIGCHLD, "no SIGCHLD is pending");
    CHECK(info.si_code == CLD_EXITED && info.si_pid == child && info.si_status == kStatus, "code %d, pid %d, status %d",
          info.si_code, info.si_pid, info.si_status);
    CHECK(sigtimedwait(&blocked, &info, &none) == -1 && errno == EAGAIN, "there is another SIGCHLD");
}
