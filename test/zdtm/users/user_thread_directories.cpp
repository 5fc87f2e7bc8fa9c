// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users yes
// zdtm: fails-with-4.2 it gives all threads the directories of the first
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

std::string here() {
    char path[4096] = {};
    CHECK(getcwd(path, sizeof path) != nullptr, "%s", strerror(errno));
    return path;
}

}  // namespace

ZDTM("threads with private directories in the tree's user namespace, and a shared descriptor table") {
    const std::string top = here();
    SYS(mkdir("inside", 0755));
    SYS(mkdir("inside/jail", 0755));
    const auto check = [&] {
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
    };
    int arrived[2];
    SYS(pipe(arrived));
    const pid_t child = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)));
    if (child == 0) {
        SYS(chdir("inside"));
        SYS(write(arrived[1], "1", 1));
        for (;;)
            pause();
    }
    char byte = 0;
    SYS(read(arrived[0], &byte, 1));
    SYS(close(arrived[0]));
    SYS(close(arrived[1]));
    check();
    zdtm::kill_and_reap(child);
}
