// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a robust mutex reports the death of its owner, also to another process") {
    struct Shared {
        pthread_mutex_t by_thread;
        pthread_mutex_t by_process;
    };
    const std::span<std::byte> memory = zdtm::map(sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const shared = reinterpret_cast<Shared*>(memory.data());
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->by_thread, &attributes);
    pthread_mutex_init(&shared->by_process, &attributes);
    zdtm::Threads threads(
        1, [&](unsigned) { pthread_mutex_lock(&shared->by_thread); }, [](unsigned) {});
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        pthread_mutex_lock(&shared->by_process);
        task.wait_for_check();
    });
    me.wait_for_check();

    CHECK(pthread_mutex_trylock(&shared->by_thread) == EBUSY, "the thread's mutex is free");
    CHECK(pthread_mutex_trylock(&shared->by_process) == EBUSY, "the child's mutex is free");
    threads.finish();
    int got = pthread_mutex_trylock(&shared->by_thread);
    CHECK(got == EOWNERDEAD, "the thread's mutex: %s", strerror(got));
    me.finish(child);
    got = pthread_mutex_trylock(&shared->by_process);
    CHECK(got == EOWNERDEAD, "the child's mutex: %s", strerror(got));
}
