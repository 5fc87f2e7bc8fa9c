// SPDX-License-Identifier: GPL-2.0-only
// zdtm: restore-options --join-ns ipc:/mnt/joined
// zdtm: modes once,five
#include <sched.h>
#include <sys/mount.h>
#include <sys/msg.h>

#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a restore with --join-ns joins an IPC namespace and keeps its queues") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::output_of("touch /mnt/joined && unshare --ipc=/mnt/joined ipcmk -Q");
    SYS(unshare(CLONE_NEWIPC));
    SYS(msgget(0x1, IPC_CREAT));
    SYS(msgget(0x2, IPC_CREAT));
    me.wait_for_check();
    CHECK(msgget(0x1, 0) < 0 && msgget(0x2, 0) < 0, "the old namespace's queues are there");
    msginfo info{};
    SYS(msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&info)));
    CHECK(info.msgpool == 1, "%d queues", info.msgpool);
}
