// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users yes
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/utsname.h>

#include "zdtm.hpp"

ZDTM("IPC and UTS namespaces that belong to a user namespace: owners and creators of System V objects") {
    SYS(unshare(CLONE_NEWIPC | CLONE_NEWUTS));
    SYS(sethostname("inside", 6));
    const int queue = SYS(msgget(0x1234, IPC_CREAT | 0600));
    msqid_ds status{};
    SYS(msgctl(queue, IPC_STAT, &status));
    status.msg_perm.uid = 1000;
    status.msg_perm.gid = 1001;
    SYS(msgctl(queue, IPC_SET, &status));
    int segment = -1;
    const pid_t user = me.start_child([&](zdtm::Task& task) {
        SYS(setresgid(501, 501, 501));
        SYS(setresuid(500, 500, 500));
        segment = SYS(shmget(0x77, 4096, IPC_CREAT | 0640));
        auto* const at = static_cast<char*>(shmat(segment, nullptr, 0));
        at[10] = 'x';
        task.wait_for_check();
        CHECK(at[10] == 'x', "shared memory has %d", at[10]);
        shmid_ds now{};
        SYS(shmctl(segment, IPC_STAT, &now));
        CHECK(
            now.shm_perm.uid == 500 && now.shm_perm.cuid == 500 && now.shm_perm.gid == 501 && now.shm_perm.cgid == 501,
            "it is of %u:%u, made by %u:%u", now.shm_perm.uid, now.shm_perm.gid, now.shm_perm.cuid, now.shm_perm.cgid);
    });

    me.wait_for_check();
    SYS(msgctl(queue, IPC_STAT, &status));
    CHECK(status.msg_perm.uid == 1000 && status.msg_perm.gid == 1001 && status.msg_perm.cuid == 0,
          "the queue is of %u:%u, made by %u", status.msg_perm.uid, status.msg_perm.gid, status.msg_perm.cuid);
    utsname names{};
    SYS(uname(&names));
    CHECK(std::strcmp(names.nodename, "inside") == 0, "the host is called %s", names.nodename);
    me.finish(user);
    // The namespace's root may still change the host name.
    SYS(sethostname("other", 5));
}
