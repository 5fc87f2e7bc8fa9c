// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>

#include "sysv_shm.hpp"
#include "zdtm.hpp"

ZDTM("System V shared memory of a namespace: attached or not, sparse, with a key, in two processes") {
    const std::size_t page = zdtm::page_size();
    const std::size_t size = 20'000'000;  // a partial last page, and enough pages for several threads
    SYS(unshare(CLONE_NEWIPC));
    const int lone = SYS(shmget(0x55, size, IPC_CREAT | 0640));
    const int sparse = SYS(shmget(IPC_PRIVATE, std::size_t{1} << 32, IPC_CREAT | SHM_NORESERVE | 0600));
    const int shared = SYS(shmget(IPC_PRIVATE, 3 * page, IPC_CREAT | 0600));
    const std::span<std::byte> once = zdtm::attach(lone, size);
    zdtm::fill(once, 1);
    SYS(shmdt(once.data()));
    shmid_ds status = zdtm::status_of(lone);
    status.shm_perm.uid = 5;
    status.shm_perm.gid = 6;
    SYS(shmctl(lone, IPC_SET, &status));
    const std::span<std::byte> wide = zdtm::attach(sparse, std::size_t{1} << 32);
    const std::size_t far = wide.size() - page;
    zdtm::fill(wide.subspan(far), 2);
    const std::span<std::byte> memory = zdtm::attach(shared, 3 * page);
    zdtm::fill(memory, 3);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(memory[0] == std::byte{99}, "not shared any more");
        const std::span<std::byte> again = zdtm::attach(lone, size);
        CHECK(zdtm::first_difference(again, 1) < 0, "the data of an unattached segment changed");
    });
    me.wait_for_check();

    const shmid_ds after = zdtm::status_of(lone);
    CHECK(after.shm_nattch == 0 && after.shm_segsz == size, "%lu attached, %zu bytes", after.shm_nattch,
          after.shm_segsz);
    CHECK(after.shm_perm.uid == 5 && after.shm_perm.gid == 6 && after.shm_perm.mode == 0640, "%u:%u, mode %o",
          after.shm_perm.uid, after.shm_perm.gid, after.shm_perm.mode);
    CHECK(SYS(shmget(0x55, 0, 0)) == lone, "another id for the key");
    CHECK(zdtm::first_difference(wide.subspan(far), 2) < 0, "the end of the sparse one changed");
    CHECK(wide[far / 2] == std::byte{0}, "something where nothing was");
    CHECK(zdtm::first_difference(memory, 3) < 0, "the data changed");
    memory[0] = std::byte{99};
    me.finish(child);
}
