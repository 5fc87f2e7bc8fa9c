// SPDX-License-Identifier: GPL-2.0-only
// zdtm: restore-options --join-ns uts:/mnt/joined
// zdtm: modes once,five
#include <sched.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a restore with --join-ns joins a UTS namespace and keeps its names") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::output_of("touch /mnt/joined && unshare --uts=/mnt/joined hostname joined");
    SYS(unshare(CLONE_NEWUTS));
    SYS(sethostname("before", 6));
    me.wait_for_check();
    utsname names{};
    SYS(uname(&names));
    CHECK(std::strcmp(names.nodename, "joined") == 0, "the host is called %s", names.nodename);
}
