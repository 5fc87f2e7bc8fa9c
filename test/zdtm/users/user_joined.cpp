// SPDX-License-Identifier: GPL-2.0-only
// zdtm: restore-options --join-ns user:/mnt/joined
// zdtm: modes once,five
#include <sys/mount.h>
#include <sys/stat.h>

#include "user_spaces.hpp"

ZDTM("a restore with --join-ns puts a tree of another user namespace into an existing one") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::keep_user_space("/mnt/joined");
    zdtm::become_root_inside();
    SYS(unshare(CLONE_NEWUTS));
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();
    struct stat joined {};
    struct stat own {};
    SYS(stat("/mnt/joined", &joined));
    SYS(stat("/proc/self/ns/user", &own));
    CHECK(joined.st_ino == own.st_ino, "it is another user namespace");
    CHECK(zdtm::share_users(getpid(), child), "the child is in another user namespace");
    SYS(sethostname("inside", 6));
    me.finish(child);
}
