// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed
// zdtm: fails-with-4.2 it refuses System V shared memory outside of a dumped IPC namespace
#include <sys/ipc.h>

#include "sysv_shm.hpp"
#include "zdtm.hpp"

ZDTM("System V shared memory: attached twice, by two tasks, read-only, in part, and with IPC_RMID") {
    const std::size_t size = 8 * zdtm::page_size() - 100;
    const int kept = SYS(shmget(IPC_PRIVATE, size, IPC_CREAT | 0640));
    const int doomed = SYS(shmget(IPC_PRIVATE, zdtm::page_size(), IPC_CREAT | 0600));
    const std::span<std::byte> memory = zdtm::attach(kept, size);
    const std::span<std::byte> reader = zdtm::attach(kept, size, SHM_RDONLY);
    const std::span<std::byte> part = zdtm::attach(kept, size);
    SYS(munmap(part.data(), zdtm::page_size()));
    const std::span<std::byte> other = zdtm::attach(doomed, zdtm::page_size());
    SYS(shmctl(doomed, IPC_RMID, nullptr));
    zdtm::fill(memory, 1);
    zdtm::fill(other, 2);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(memory[5] == std::byte{55}, "not shared any more");
        SYS(shmdt(memory.data()));
    });
    const shmid_ds before = zdtm::status_of(kept);
    me.wait_for_check();

    const shmid_ds after = zdtm::status_of(kept);
    CHECK(after.shm_nattch == before.shm_nattch, "%lu attached, not %lu", after.shm_nattch, before.shm_nattch);
    CHECK(after.shm_perm.mode == before.shm_perm.mode && after.shm_segsz == size, "mode or size changed");
    CHECK(zdtm::first_difference(memory, 1) < 0 && zdtm::first_difference(other, 2) < 0, "the data changed");
    CHECK(reader[100] == memory[100] && part[zdtm::page_size()] == memory[zdtm::page_size()], "other views differ");
    CHECK((zdtm::status_of(doomed).shm_perm.mode & SHM_DEST) != 0, "not to be removed any more");
    memory[5] = std::byte{55};
    CHECK(reader[5] == std::byte{55}, "the views are apart");
    me.finish(child);
    SYS(shmdt(memory.data()));
    SYS(shmdt(reader.data()));
    SYS(shmdt(other.data()));
    CHECK(shmctl(doomed, IPC_STAT, const_cast<shmid_ds*>(&after)) < 0, "still there though no process has it");
    SYS(shmctl(kept, IPC_RMID, nullptr));
}
