// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it makes only the name of bind(2)
// zdtm: restore-options --root /
// zdtm: may-differ socket \./\S+: mtime:, tmpfs-dev: \./\S*: mode 04
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mounts.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {

// Makes a listening socket with two names, neither of them the one of bind(2).
int linked_socket(const std::string& path) {
    const int socket = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path(path + ".passing"));
    SYS(link((path + ".passing").c_str(), path.c_str()));
    SYS(link((path + ".passing").c_str(), (path + ".second").c_str()));
    SYS(unlink((path + ".passing").c_str()));
    return socket;
}

void check(int listener, const std::string& path) {
    for (const std::string& name : {path, path + ".second"}) {
        const int fresh = zdtm::connected_socket(SOCK_STREAM, zdtm::Name::path(name));
        zdtm::check_connected(fresh, SYS(accept(listener, nullptr, nullptr)), name.c_str());
    }
    struct stat status {};
    SYS(stat(path.c_str(), &status));
    CHECK(status.st_nlink == 2, "%s: %lu names", path.c_str(), static_cast<unsigned long>(status.st_nlink));
    CHECK(access((path + ".passing").c_str(), F_OK) == -1, "the name of bind(2) is back");
}

}  // namespace

ZDTM("sockets with several names on tmpfs, in a mount namespace and in one below it") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/place", 0700));
    const int mine = linked_socket("/mnt/mine");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/mnt/place", "tmpfs");
        const int own = linked_socket("/mnt/place/own");
        task.wait_for_check();
        check(own, "/mnt/place/own");
    });
    me.wait_for_check();
    me.finish(child);

    check(mine, "/mnt/mine");
}
