// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused a process is to be notified of the next message in POSIX message queue /letters
#include <mqueue.h>
#include <sched.h>
#include <signal.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a POSIX message queue with mq_notify(3), and the notification still comes") {
    SYS(unshare(CLONE_NEWIPC));
    const mqd_t queue = SYS(mq_open("/letters", O_RDWR | O_CREAT, 0600, nullptr));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    event.sigev_value.sival_int = 77;
    SYS(mq_notify(queue, &event));
    me.wait_for_check();
    SYS(mq_send(queue, "hello", 5, 3));
    siginfo_t info{};
    const timespec now{};
    CHECK(sigtimedwait(&set, &info, &now) == SIGRTMIN, "there was no notification");
    CHECK(info.si_code == SI_MESGQ && info.si_value.sival_int == 77, "code %d, value %d", info.si_code,
          info.si_value.sival_int);
}
