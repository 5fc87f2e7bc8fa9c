// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/sem.h>

#include <cstdint>
#include <vector>

#include "zdtm.hpp"

namespace {

union Argument {
    int value;
    semid_ds* status;
    std::uint16_t* values;
};

semid_ds status_of(int set) {
    semid_ds status{};
    Argument argument{};
    argument.status = &status;
    SYS(semctl(set, 0, IPC_STAT, argument));
    return status;
}

void add(int set, unsigned short which, short amount) {
    sembuf operation{which, amount, IPC_NOWAIT};
    SYS(semop(set, &operation, 1));
}

}  // namespace

ZDTM("semaphore sets: ids, keys, owners, modes and values; a waiting process wakes when the value rises") {
    SYS(unshare(CLONE_NEWIPC));
    const int odd = SYS(semget(0x77, 3, IPC_CREAT | 0640));  // an odd number of values, which the image pads
    const int many = SYS(semget(IPC_PRIVATE, 1000, IPC_CREAT | 0600));
    add(odd, 0, 32767);
    add(odd, 2, 7);
    std::vector<std::uint16_t> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::uint16_t>(i * 31 % 1009);
    Argument all{};
    all.values = values.data();
    SYS(semctl(many, 0, SETALL, all));
    semid_ds status = status_of(odd);
    status.sem_perm.uid = 12;
    status.sem_perm.gid = 13;
    Argument argument{};
    argument.status = &status;
    SYS(semctl(odd, 0, IPC_SET, argument));
    const pid_t waiter = me.start_child([&](zdtm::Task& task) {
        task.ready();
        sembuf take{1, -1, 0};
        while (semop(odd, &take, 1) < 0)
            CHECK(errno == EINTR, "semop: %s", strerror(errno));
        task.wait_trigger();
    });
    me.wait_for_check();

    const semid_ds after = status_of(odd);
    CHECK(after.sem_perm.uid == 12 && after.sem_perm.gid == 13, "owned by %u:%u", after.sem_perm.uid,
          after.sem_perm.gid);
    CHECK(after.sem_perm.mode == 0640 && after.sem_nsems == 3, "mode %o, %lu semaphores", after.sem_perm.mode,
          after.sem_nsems);
    CHECK(SYS(semget(0x77, 3, 0)) == odd, "another id for the key");
    CHECK(semctl(odd, 0, GETVAL) == 32767 && semctl(odd, 2, GETVAL) == 7, "other values");
    std::vector<std::uint16_t> now(1000);
    all.values = now.data();
    SYS(semctl(many, 0, GETALL, all));
    CHECK(now == values, "other values of the large set");
    add(odd, 1, 1);
    me.finish(waiter);
    CHECK(semctl(odd, 1, GETVAL) == 0, "no process took it");
}
