// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it refuses credentials in a queue
#include <fcntl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {
void receive_from(int fd, const char* text, pid_t pid, uid_t uid) {
    const zdtm::Message got = zdtm::receive(fd, strlen(text));
    CHECK(got == text, "'%s' instead of '%s'", got.data.c_str(), text);
    CHECK(got.sender.has_value(), "%s: no credentials", text);
    CHECK(got.sender->pid == pid, "%s is from pid %d, not %d", text, got.sender->pid, pid);
    CHECK(got.sender->uid == uid && got.sender->gid == uid, "%s: from %u:%u", text, got.sender->uid, got.sender->gid);
}
}  // namespace

ZDTM("credentials of queued messages: pid, uid and gid of each sender, with files in flight") {
    const zdtm::Pair pairs[] = {zdtm::make_pair_of(SOCK_STREAM), zdtm::make_pair_of(SOCK_DGRAM)};
    const int yes = 1;
    for (const zdtm::Pair& pair : pairs) {
        SYS(setsockopt(pair.other, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes));
        zdtm::send_message(pair.one, "parent");
    }
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int null = SYS(open("/dev/null", O_RDONLY));
        SYS(setresgid(1234, 1234, 1234));
        SYS(setresuid(1234, 1234, 1234));
        for (const zdtm::Pair& pair : pairs) {
            zdtm::send_message(pair.one, "child", {null});
            SYS(close(pair.one));
            SYS(close(pair.other));
        }
        task.wait_for_check();
    });
    me.wait_for_check();

    for (const zdtm::Pair& pair : pairs) {
        receive_from(pair.other, "parent", getpid(), 0);
        receive_from(pair.other, "child", child, 1234);
        int passing = 0;
        socklen_t size = sizeof passing;
        SYS(getsockopt(pair.other, SOL_SOCKET, SO_PASSCRED, &passing, &size));
        CHECK(passing == 1, "SO_PASSCRED is off");
        zdtm::send_message(pair.one, "again");
        receive_from(pair.other, "again", getpid(), 0);
    }
    me.finish(child);
}
