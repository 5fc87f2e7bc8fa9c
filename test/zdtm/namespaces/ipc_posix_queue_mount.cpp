// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no POSIX message queues
// zdtm: restore-options --root /
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("an mqueue mount, and descriptors of queues that were opened there") {
    SYS(unshare(CLONE_NEWIPC));
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "mqueue", "", 0, "mqueue");
    const mqd_t queue = SYS(mq_open("/mine", O_RDWR | O_CREAT | O_EXCL, 0600, nullptr));
    SYS(mq_send(queue, "hello", 5, 3));
    const int by_path = SYS(open("/mnt/mine", O_RDWR | O_NONBLOCK));
    me.wait_for_check();

    struct stat named {};
    struct stat opened {};
    SYS(stat("/mnt/mine", &named));
    SYS(fstat(by_path, &opened));
    CHECK(named.st_ino == opened.st_ino, "another queue has the name");
    char text[8192];
    unsigned priority = 0;
    const ssize_t size = SYS(mq_receive(by_path, text, sizeof(text), &priority));
    CHECK(size == 5 && priority == 3, "%zd bytes of priority %u", size, priority);
    SYS(mq_send(queue, "again", 5, 1));
    SYS(mq_receive(by_path, text, sizeof(text), &priority));
    CHECK(mq_receive(by_path, text, sizeof(text), &priority) < 0 && errno == EAGAIN, "one message too many");
}
