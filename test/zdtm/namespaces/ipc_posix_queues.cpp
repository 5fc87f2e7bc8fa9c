// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also background-killed
// zdtm: fails-with-4.2 it knows no POSIX message queues
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "zdtm.hpp"

namespace {

struct Message {
    unsigned priority;
    std::string text;
};

mqd_t make(const char* name, long messages, long size, int how = O_RDWR) {
    mq_attr attributes{};
    attributes.mq_maxmsg = messages;
    attributes.mq_msgsize = size;
    return SYS(mq_open(name, how | O_CREAT | O_EXCL, 0600, &attributes));
}

void send(mqd_t queue, const std::vector<Message>& messages) {
    for (const Message& message : messages)
        SYS(mq_send(queue, message.text.data(), message.text.size(), message.priority));
}

// Receives all messages and requires exactly these.
void check_messages(mqd_t queue, const std::vector<Message>& messages) {
    for (const Message& message : messages) {
        char text[8192];
        unsigned priority = 0;
        const timespec now{};
        const ssize_t size = SYS(mq_timedreceive(queue, text, sizeof(text), &priority, &now));
        CHECK(priority == message.priority, "priority %u, not %u", priority, message.priority);
        CHECK(std::string(text, static_cast<std::size_t>(size)) == message.text, "%.*s, not %s", static_cast<int>(size),
              text, message.text.c_str());
    }
    mq_attr left{};
    SYS(mq_getattr(queue, &left));
    CHECK(left.mq_curmsgs == 0, "%ld messages too many", left.mq_curmsgs);
}

void check_attributes(mqd_t queue, long messages, long size, long flags) {
    mq_attr now{};
    SYS(mq_getattr(queue, &now));
    CHECK(now.mq_maxmsg == messages && now.mq_msgsize == size && now.mq_flags == flags,
          "%ld messages of %ld bytes, flags %lo", now.mq_maxmsg, now.mq_msgsize, now.mq_flags);
}

}  // namespace

ZDTM(
    "POSIX message queues: names, attributes, owners, modes, and messages by priority and in order; a dump leaves the "
    "messages in place; descriptors, also of unlinked queues") {
    SYS(unshare(CLONE_NEWIPC));
    umask(0);
    const mqd_t letters = make("/letters", 4, 8192, O_RDWR | O_NONBLOCK);
    send(letters, {{0, "last"}, {7, "one of seven"}, {32767, ""}, {7, "the other"}});  // full
    const mqd_t empty = make("/empty", 1, 1);
    SYS(fchown(empty, 43, 44));
    SYS(fchmod(empty, 0626));
    SYS(mq_close(make("/closed", 10, 100)));
    const mqd_t closed = SYS(mq_open("/closed", O_WRONLY));
    send(closed, {{1, std::string("a\0b", 3)}});
    SYS(mq_close(closed));
    const mqd_t gone = make("/gone", 3, 50);
    send(gone, {{2, "kept"}});
    SYS(mq_unlink("/gone"));
    const mqd_t other = make("/other", 5, 60);
    const mqd_t readable = SYS(mq_open("/letters", O_RDONLY));
    const pid_t reader = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        check_messages(gone, {{2, "kept"}});
        send(other, {{9, "from the child"}});
    });
    me.wait_for_check();

    me.finish(reader);
    check_attributes(letters, 4, 8192, O_NONBLOCK);
    check_attributes(readable, 4, 8192, 0);
    CHECK(mq_send(letters, "x", 1, 0) < 0 && errno == EAGAIN, "a full queue takes another message");
    check_messages(readable, {{32767, ""}, {7, "one of seven"}, {7, "the other"}, {0, "last"}});
    CHECK(mq_send(readable, "x", 1, 0) < 0 && errno == EBADF, "a descriptor that was open for reading can be written");
    check_attributes(empty, 1, 1, 0);
    struct stat stat {};
    SYS(fstat(empty, &stat));
    CHECK(stat.st_uid == 43 && stat.st_gid == 44 && (stat.st_mode & 07777) == 0626, "of %u:%u, mode %o", stat.st_uid,
          stat.st_gid, stat.st_mode);
    send(empty, {{0, "y"}});
    const mqd_t empty_by_name = SYS(mq_open("/empty", O_RDONLY));
    check_messages(empty_by_name, {{0, "y"}});
    const mqd_t closed_by_name = SYS(mq_open("/closed", O_RDONLY));
    check_messages(closed_by_name, {{1, std::string("a\0b", 3)}});
    check_attributes(closed_by_name, 10, 100, 0);
    SYS(fstat(gone, &stat));
    CHECK(stat.st_nlink == 0, "the queue without a name has one");
    check_attributes(gone, 3, 50, 0);
    check_messages(other, {{9, "from the child"}});
    CHECK(mq_open("/gone", O_RDONLY) < 0 && errno == ENOENT, "the name is back");
}
