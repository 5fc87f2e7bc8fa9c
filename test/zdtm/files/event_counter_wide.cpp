// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it keeps only 32 bits
#include <sys/eventfd.h>

#include "zdtm.hpp"

ZDTM("eventfds with values of more than 32 bits, up to the largest") {
    const int counter = SYS(eventfd(0, EFD_NONBLOCK));
    const int largest = SYS(eventfd(0, EFD_NONBLOCK));
    SYS(eventfd_write(counter, 0x123456789abcdef));
    SYS(eventfd_write(largest, 0xfffffffffffffffe));
    me.wait_for_check();

    CHECK(eventfd_write(largest, 1) == -1 && errno == EAGAIN, "there is room in the full counter");
    eventfd_t value = 0;
    CHECK(eventfd_read(largest, &value) == 0 && value == 0xfffffffffffffffe, "counter 0x%lx", value);
    CHECK(eventfd_read(counter, &value) == 0 && value == 0x123456789abcdef, "counter 0x%lx", value);
}
