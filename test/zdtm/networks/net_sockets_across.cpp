// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it has all sockets of a connection in one network namespace
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "zdtm.hpp"

namespace {

// Returns the inode number of the network namespace that a socket belongs to.
ino_t network_of(int fd) {
    const int space = SYS(ioctl(fd, SIOCGSKNS));
    struct stat status {};
    SYS(fstat(space, &status));
    SYS(close(space));
    return status.st_ino;
}

ino_t own_network() {
    struct stat status {};
    SYS(stat("/proc/self/ns/net", &status));
    return status.st_ino;
}

sockaddr_un address(const char* path) {
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    strcpy(made.sun_path, path);
    return made;
}

int bound(int type, const char* path) {
    const int fd = SYS(socket(AF_UNIX, type, 0));
    const sockaddr_un where = address(path);
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)));
    return fd;
}

int connected(int type, const char* path) {
    const int fd = SYS(socket(AF_UNIX, type, 0));
    const sockaddr_un where = address(path);
    SYS(connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)));
    return fd;
}

void require_text(int fd, const std::string& wanted) {
    char text[16] = {};
    CHECK(recv(fd, text, sizeof(text) - 1, 0) == static_cast<ssize_t>(wanted.size()) && wanted == text, "got '%s'",
          text);
}

}  // namespace

ZDTM("Unix sockets of several network namespaces, connected by names in the file system") {
    const int listener = bound(SOCK_STREAM, "stream");
    SYS(listen(listener, 5));
    const int target = bound(SOCK_DGRAM, "datagrams");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNET));
        const int stream = connected(SOCK_STREAM, "stream");
        const int waiting = connected(SOCK_STREAM, "stream");
        const int datagrams = connected(SOCK_DGRAM, "datagrams");
        SYS(send(datagrams, "early", 5, 0));
        task.wait_for_check();
        for (const int fd : {stream, waiting, datagrams})
            CHECK(network_of(fd) == own_network(), "fd %d is of another network namespace", fd);
        SYS(send(stream, "hello", 5, 0));
        SYS(send(waiting, "queue", 5, 0));
        SYS(send(datagrams, "later", 5, 0));
        require_text(stream, "answer");
    });
    const int accepted = SYS(accept(listener, nullptr, nullptr));
    const ino_t far = network_of(accepted);
    CHECK(far != own_network(), "an accepted socket is of the network of who has called");
    me.wait_for_check();

    CHECK(network_of(listener) == own_network() && network_of(target) == own_network(), "another network namespace");
    CHECK(network_of(accepted) != own_network(), "the network namespace of the listener");
    SYS(send(accepted, "answer", 6, 0));
    me.finish(child);
    require_text(accepted, "hello");
    require_text(SYS(accept(listener, nullptr, nullptr)), "queue");
    require_text(target, "early");
    require_text(target, "later");
}
