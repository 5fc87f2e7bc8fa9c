// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused a POSIX message queue /letters,
#include <mqueue.h>
#include <sched.h>

#include "zdtm.hpp"

ZDTM("an IPC namespace with a POSIX message queue is refused, and the message stays") {
    SYS(unshare(CLONE_NEWIPC));
    const mqd_t queue = SYS(mq_open("/letters", O_RDWR | O_CREAT, 0600, nullptr));
    SYS(mq_send(queue, "hello", 5, 3));
    SYS(mq_close(queue));
    me.wait_for_check();
    const mqd_t again = SYS(mq_open("/letters", O_RDONLY));
    char text[8192];
    unsigned priority = 0;
    const ssize_t size = SYS(mq_receive(again, text, sizeof(text), &priority));
    CHECK(size == 5 && priority == 3, "%zd bytes of priority %u", size, priority);
}
