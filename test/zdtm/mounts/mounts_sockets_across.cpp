// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it has one mount namespace of its own
// zdtm: may-differ socket \./\S+: mtime:, tmpfs-dev: \./\S*: mode 04
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

sockaddr_un address(const char* path) {
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    strcpy(made.sun_path, path);
    return made;
}

int bound(const char* path) {
    const int fd = SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
    const sockaddr_un where = address(path);
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)));
    return fd;
}

}  // namespace

ZDTM("connected Unix sockets of several mount namespaces, with names in each") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    const int first = bound("/mnt/first");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/tmp", "tmpfs");
        const int second = bound("/tmp/second");
        const sockaddr_un where = address("/mnt/first");
        SYS(connect(second, reinterpret_cast<const sockaddr*>(&where), sizeof(where)));
        SYS(send(second, "early", 5, 0));
        task.wait_for_check();
        struct stat status {};
        CHECK(stat("/tmp/second", &status) == 0 && S_ISSOCK(status.st_mode), "its name is gone");
        SYS(send(second, "later", 5, 0));
    });
    me.wait_for_check();

    struct stat status {};
    CHECK(stat("/mnt/first", &status) == 0 && S_ISSOCK(status.st_mode), "its name is gone");
    CHECK(access("/tmp/second", F_OK) == -1, "the other's name is here");
    me.finish(child);
    for (const char* const wanted : {"early", "later"}) {
        char text[16] = {};
        sockaddr_un from{};
        socklen_t length = sizeof(from);
        CHECK(recvfrom(first, text, sizeof(text), 0, reinterpret_cast<sockaddr*>(&from), &length) == 5 &&
                  strcmp(text, wanted) == 0 && strcmp(from.sun_path, "/tmp/second") == 0,
              "got '%s' from '%s'", text, from.sun_path);
    }
}
