// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no POSIX message queues
// zdtm: ignore fd .*
#include <mqueue.h>
#include <sched.h>

#include <string>

#include "zdtm.hpp"

ZDTM("a POSIX message queue without a name, whose old name another queue has") {
    SYS(unshare(CLONE_NEWIPC));
    const mqd_t gone = SYS(mq_open("/name", O_RDWR | O_CREAT | O_EXCL, 0600, nullptr));
    SYS(mq_unlink("/name"));
    const mqd_t other = SYS(mq_open("/name", O_RDWR | O_CREAT | O_EXCL, 0600, nullptr));
    SYS(mq_send(gone, "gone", 4, 1));
    SYS(mq_send(other, "other", 5, 1));
    me.wait_for_check();
    char text[8192];
    const auto next = [&](mqd_t queue) {
        return std::string(text, static_cast<std::size_t>(SYS(mq_receive(queue, text, sizeof(text), nullptr))));
    };
    CHECK(next(gone) == "gone", "a message of the other queue");
    CHECK(next(SYS(mq_open("/name", O_RDONLY))) == "other", "a message of the other queue");
}
