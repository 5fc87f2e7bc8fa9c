// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/eventfd.h>

#include "zdtm.hpp"

ZDTM("eventfds keep value and flags, and processes still share them") {
    const int counter = SYS(eventfd(0, EFD_CLOEXEC));
    const int empty = SYS(eventfd(0, EFD_NONBLOCK));
    SYS(eventfd_write(counter, 0x1234567));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        SYS(eventfd_write(counter, 1));
    });
    me.wait_for_check();

    me.finish(child);
    eventfd_t value = 0;
    SYS(eventfd_read(counter, &value));
    CHECK(value == 0x1234568, "counter 0x%lx", value);
    CHECK(eventfd_read(empty, &value) == -1 && errno == EAGAIN, "the empty counter has %lu", value);
    CHECK((fcntl(counter, F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec was lost");
    CHECK((fcntl(counter, F_GETFL) & O_NONBLOCK) == 0, "the counter does not block");
}
