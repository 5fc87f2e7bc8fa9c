// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: dump-options --link-remap
// zdtm: restore-options --root /
// zdtm: may-differ socket \./\S+: mtime:, tmpfs-dev: \./\S*: mode 04
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("deleted files, watches, sockets and a changed root on mounts of the tree's mount namespace") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/folder", 0700));
    const int gone = SYS(open("/mnt/folder/gone", O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(write(gone, "ghost", 5));
    SYS(unlink("/mnt/folder/gone"));
    const int linked = SYS(open("/mnt/folder/first", O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(link("/mnt/folder/first", "/mnt/folder/second"));
    SYS(unlink("/mnt/folder/first"));
    const int watch = SYS(inotify_init1(IN_NONBLOCK));
    SYS(inotify_add_watch(watch, "/mnt/folder", IN_CREATE));
    const int server = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{AF_UNIX, "/mnt/server"};
    SYS(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    SYS(listen(server, 1));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(chroot("/mnt"));
        SYS(chdir("/folder"));
        task.wait_for_check();
        SYS(access("/folder/second", R_OK));
        SYS(access("second", R_OK));
    });

    me.wait_for_check();

    char text[6] = {};
    SYS(pread(gone, text, 5, 0));
    CHECK(std::string(text) == "ghost", "%s", text);
    struct stat one {};
    struct stat other {};
    SYS(fstat(gone, &one));
    CHECK(one.st_nlink == 0, "it has %lu names", static_cast<unsigned long>(one.st_nlink));
    SYS(fstat(linked, &one));
    SYS(stat("/mnt/folder/second", &other));
    CHECK(one.st_ino == other.st_ino && one.st_nlink == 1, "%lu names", static_cast<unsigned long>(one.st_nlink));
    SYS(close(SYS(open("/mnt/folder/new", O_CREAT | O_WRONLY, 0600))));
    char events[512];
    CHECK(read(watch, events, sizeof(events)) > 0, "nothing was seen");
    const int client = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    SYS(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    me.finish(child);
}
