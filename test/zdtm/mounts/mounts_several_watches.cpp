// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a parent's inotify watches a directory and a file on a mount that only its child's namespace has") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/own", 0700));
    int ready[2];
    SYS(pipe(ready));
    const pid_t child = me.start_child([&ready](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/mnt/own", "tmpfs");
        SYS(close(SYS(open("/mnt/own/file", O_RDWR | O_CREAT | O_EXCL, 0600))));
        SYS(dup2(SYS(open("/mnt/own", O_RDONLY | O_DIRECTORY)), 100));
        SYS(write(ready[1], "x", 1));
        task.wait_for_check();
        SYS(close(SYS(open("/mnt/own/file", O_RDWR))));
        SYS(close(SYS(open("/mnt/own/more", O_RDWR | O_CREAT | O_EXCL, 0600))));
    });
    char made = 0;
    SYS(read(ready[0], &made, 1));
    SYS(close(ready[0]));
    SYS(close(ready[1]));
    const std::string there = "/proc/" + std::to_string(child) + "/fd/100";
    const int watch = SYS(inotify_init1(IN_NONBLOCK));
    const int file = SYS(inotify_add_watch(watch, (there + "/file").c_str(), IN_CLOSE_WRITE));
    const int directory = SYS(inotify_add_watch(watch, there.c_str(), IN_CREATE));

    me.wait_for_check();

    me.finish(child);
    alignas(inotify_event) char events[4096];
    const ssize_t size = SYS(read(watch, events, sizeof(events)));
    bool written = false;
    bool created = false;
    for (ssize_t at = 0; at < size;) {
        const auto& event = *reinterpret_cast<const inotify_event*>(events + at);
        written = written || (event.wd == file && (event.mask & IN_CLOSE_WRITE) != 0);
        created = created || (event.wd == directory && (event.mask & IN_CREATE) != 0);
        at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
    CHECK(written && created, "written %d, created %d", written, created);
}
