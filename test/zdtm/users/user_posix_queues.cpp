// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no POSIX message queues
// zdtm: also user-given
// zdtm: own-users yes
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("POSIX message queues of an IPC namespace that belongs to a user namespace: owners and messages") {
    SYS(unshare(CLONE_NEWIPC));
    const mqd_t queue = SYS(mq_open("/mine", O_RDWR | O_CREAT | O_EXCL, 0600, nullptr));
    SYS(fchown(queue, 1000, 1001));
    SYS(mq_send(queue, "hello", 5, 3));
    const pid_t user = me.start_child([](zdtm::Task& task) {
        SYS(setresgid(1001, 1001, 1001));
        SYS(setresuid(1000, 1000, 1000));
        const mqd_t own = SYS(mq_open("/mine", O_RDONLY));
        task.wait_for_check();
        char text[8192];
        unsigned priority = 0;
        const ssize_t size = SYS(mq_receive(own, text, sizeof(text), &priority));
        CHECK(size == 5 && priority == 3, "%zd bytes of priority %u", size, priority);
    });
    me.wait_for_check();
    me.finish(user);
    struct stat stat {};
    SYS(fstat(queue, &stat));
    CHECK(stat.st_uid == 1000 && stat.st_gid == 1001, "it is of %u:%u", stat.st_uid, stat.st_gid);
}
