// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it forgets what is to be removed and what is locked
#include <sched.h>
#include <sys/shm.h>

#include "zdtm.hpp"

ZDTM("System V shared memory of a namespace: locked, with IPC_RMID, and created by another process") {
    SYS(unshare(CLONE_NEWIPC));
    const std::size_t page = zdtm::page_size();
    SYS(setegid(31));
    SYS(seteuid(32));
    const int doomed = SYS(shmget(IPC_PRIVATE, page, IPC_CREAT | 0666));
    SYS(seteuid(0));
    SYS(setegid(0));
    const int locked = SYS(shmget(IPC_PRIVATE, page, IPC_CREAT | 0600));
    void* const at = shmat(doomed, nullptr, 0);
    CHECK(at != reinterpret_cast<void*>(-1), "shmat: %s", strerror(errno));
    const std::span<std::byte> memory(static_cast<std::byte*>(at), page);
    zdtm::fill(memory, 1);
    SYS(shmctl(doomed, IPC_RMID, nullptr));
    SYS(shmctl(locked, SHM_LOCK, nullptr));
    me.wait_for_check();

    shmid_ds status{};
    SYS(shmctl(locked, IPC_STAT, &status));
    CHECK((status.shm_perm.mode & SHM_LOCKED) != 0, "not locked any more: %o", status.shm_perm.mode);
    SYS(shmctl(doomed, IPC_STAT, &status));
    CHECK((status.shm_perm.mode & SHM_DEST) != 0, "not to be removed any more: %o", status.shm_perm.mode);
    CHECK(status.shm_perm.cuid == 32 && status.shm_perm.cgid == 31, "made by %u:%u", status.shm_perm.cuid,
          status.shm_perm.cgid);
    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    SYS(shmdt(at));
    CHECK(shmctl(doomed, IPC_STAT, &status) < 0, "still there though no process has it");
}
