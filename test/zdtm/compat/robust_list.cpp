// SPDX-License-Identifier: GPL-2.0-only
#include <sys/syscall.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct List {
    void* head;
    unsigned length;
};

List list_of_caller() {
    List list{};
    SYS(syscall(SYS_get_robust_list, 0, &list.head, &list.length));
    return list;
}
}  // namespace

ZDTM("the robust futex list of 32-bit threads works after the restore") {
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    zdtm::Threads threads(2, [&](unsigned index, zdtm::Threads& all) {
        if (index == 0) {
            pthread_mutex_lock(&mutex);
        }
        const List before = list_of_caller();
        CHECK(before.head != nullptr && before.length == 12, "glibc gave %p, %u bytes", before.head, before.length);
        all.arrive();
        all.wait_release();
        const List now = list_of_caller();
        CHECK(now.head == before.head && now.length == before.length, "thread %u: list at %p of %u bytes", index,
              now.head, now.length);
    });
    me.wait_for_check();
    CHECK(pthread_mutex_trylock(&mutex) == EBUSY, "the mutex is free");
    threads.finish();
    const int got = pthread_mutex_trylock(&mutex);
    CHECK(got == EOWNERDEAD, "the mutex of a thread that ended: %s", strerror(got));
}
