// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore (thread \d+ )?(SigPnd|ShdPnd|SigQ)
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a stopped process with further SIGSTOP signals pending is restored stopped, and SIGCONT resumes it") {
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    SYS(kill(child, SIGSTOP));
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT));
    SYS(kill(child, SIGSTOP));
    SYS(syscall(SYS_tkill, child, SIGSTOP));
    me.wait_for_check();

    SYS(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG));
    CHECK(info.si_pid == child && info.si_code == CLD_STOPPED, "no stop to be seen");
    SYS(kill(child, SIGCONT));
    me.finish(child);
}
