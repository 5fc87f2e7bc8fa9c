// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it gives all threads the directories of the first
#include <sched.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {

std::string here() {
    char path[4096] = {};
    CHECK(getcwd(path, sizeof path) != nullptr, "%s", strerror(errno));
    return path;
}

}  // namespace

ZDTM("threads with working directories of their own in the tree's mount namespace") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(chdir("/mnt"));
    SYS(mkdir("inside", 0755));
    const std::string top = here();
    SYS(mkdir("inside/jail", 0755));
    zdtm::Threads threads(
        2,
        [&](unsigned index) {
            SYS(unshare(CLONE_FS));
            umask(index == 0 ? 011 : 022);
            SYS(chdir("inside"));
            if (index == 1) {
                SYS(chroot("jail"));
                SYS(chdir("/"));
            }
        },
        [&](unsigned index) {
            CHECK(here() == (index == 0 ? top + "/inside" : "/"), "in %s", here().c_str());
            CHECK(umask(0) == (index == 0 ? 011U : 022U), "another mask");
        });
    me.wait_for_check();
    threads.finish();
}
