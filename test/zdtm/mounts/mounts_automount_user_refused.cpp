// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: own-pids yes
// zdtm: refused /mnt/auto \(autofs, mount [0-9]+\): the kernel permits no mount of an autofs in a user namespace
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "mounts.hpp"
#include "user_spaces.hpp"

ZDTM("a dump refuses an autofs in a mount namespace of a user namespace") {
    if (access("/dev/autofs", R_OK) < 0)
        zdtm::skip("the kernel has no autofs");
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/auto", 0755));
    int ends[2];
    SYS(pipe2(ends, O_CLOEXEC));
    zdtm::mount_on(
        "/mnt/auto", "autofs",
        "fd=" + std::to_string(ends[1]) + ",pgrp=" + std::to_string(getpgrp()) + ",minproto=5,maxproto=5,indirect");
    SYS(close(ends[0]));
    SYS(close(ends[1]));
    zdtm::become_root_inside();
    SYS(unshare(CLONE_NEWNS));
    // The kernel finds that the daemon has gone. A process of the daemon's group wouldn't send a request.
    signal(SIGPIPE, SIG_IGN);
    const pid_t child = SYS(fork());
    if (child == 0) {
        setpgid(0, 0);
        _exit(access("/mnt/auto/wanted", F_OK) < 0 ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "a mount without a daemon serves");
    me.wait_for_check();
}
