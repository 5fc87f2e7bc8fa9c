// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the first process is in the IPC namespace of criu, and another one isn't
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "zdtm.hpp"

namespace {

constexpr key_t key = 0x7a647431;
constexpr std::size_t size = 64 * 1024;

}  // namespace

ZDTM("a child in a private IPC namespace, and a parent in criu's") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWIPC));
        const int segment = SYS(shmget(key, size, IPC_CREAT | IPC_EXCL | 0600));
        auto* const memory = static_cast<std::byte*>(SYS(shmat(segment, nullptr, 0)));
        zdtm::fill({memory, size}, 7);
        const int queue = SYS(msgget(key, IPC_CREAT | IPC_EXCL | 0600));
        const int semaphores = SYS(semget(key, 1, IPC_CREAT | IPC_EXCL | 0600));
        sembuf raise{0, 3, SEM_UNDO};
        SYS(semop(semaphores, &raise, 1));

        task.wait_for_check();

        CHECK(zdtm::first_difference({memory, size}, 7) == -1, "the segment has other content");
        CHECK(shmget(key, size, 0) == segment, "the segment has another number");
        CHECK(msgget(key, 0) == queue, "the queue has another number");
        CHECK(SYS(semctl(semaphores, 0, GETVAL)) == 3, "the semaphore has another value");
    });
    me.wait_for_check();
    CHECK(shmget(key, size, 0) < 0 && errno == ENOENT, "the segment is in the parent's namespace");
    CHECK(msgget(key, 0) < 0 && errno == ENOENT, "the queue is in the parent's namespace");
    me.finish(child);
}
