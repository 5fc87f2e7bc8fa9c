// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other) it restores no more than the limits allow
#include <sched.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <string>
#include <utility>

#include "zdtm.hpp"

namespace {

// Files below /proc/sys with values that differ from the defaults.
constexpr std::pair<const char*, const char*> settings[] = {
    {"kernel/sem", "123\t45678\t90\t321"},
    {"kernel/msgmax", "8001"},
    {"kernel/msgmnb", "16001"},
    {"kernel/msgmni", "3201"},
    {"kernel/shmmax", "18446744073692770001"},
    {"kernel/shmall", "18446744073692770002"},
    {"kernel/shmmni", "409"},
    {"kernel/shm_rmid_forced", "1"},
    {"fs/mqueue/queues_max", "257"},
    {"fs/mqueue/msg_max", "11"},
    {"fs/mqueue/msgsize_max", "8193"},
    {"fs/mqueue/msg_default", "9"},
    {"fs/mqueue/msgsize_default", "8191"},
    {"kernel/msg_next_id", "77"},
    {"kernel/sem_next_id", "78"},
};

}  // namespace

ZDTM("limits of an IPC namespace, also below the present number of objects") {
    SYS(unshare(CLONE_NEWIPC));
    const int set = SYS(semget(IPC_PRIVATE, 200, IPC_CREAT | 0600));  // has more semaphores than the later limit of 123
    for (const auto& [name, value] : settings)
        zdtm::write_file(std::string("/proc/sys/") + name, value);
    me.wait_for_check();
    for (const auto& [name, value] : settings) {
        const std::string now = zdtm::read_file(std::string("/proc/sys/") + name);
        CHECK(now == std::string(value) + "\n", "%s is %s", name, now.c_str());
    }
    CHECK(semctl(set, 199, GETVAL) == 0, "the large set is gone");
}
