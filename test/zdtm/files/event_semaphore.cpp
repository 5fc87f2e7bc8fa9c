// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it makes a usual counter of it
#include <sys/eventfd.h>

#include "zdtm.hpp"

ZDTM("an eventfd semaphore counts down by one") {
    const int semaphore = SYS(eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK));
    me.wait_for_check();

    eventfd_t value = 0;
    for (int i = 0; i < 3; ++i) {
        CHECK(eventfd_read(semaphore, &value) == 0 && value == 1, "turn %d: %lu", i, value);
    }
    CHECK(eventfd_read(semaphore, &value) == -1 && errno == EAGAIN, "it goes on with %lu", value);
}
