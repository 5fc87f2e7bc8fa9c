// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it joins the packets
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a pipe in packet mode (O_DIRECT) keeps its packets apart") {
    int ends[2];
    SYS(pipe2(ends, O_DIRECT | O_NONBLOCK));
    for (const char* packet : {"one", "three", "seven"}) {
        CHECK(write(ends[1], packet, strlen(packet)) > 0, "%s", strerror(errno));
    }
    me.wait_for_check();
    for (const char* packet : {"one", "three", "seven"}) {
        char text[16] = {};
        const ssize_t got = read(ends[0], text, sizeof text);
        CHECK(got == static_cast<ssize_t>(strlen(packet)) && strcmp(text, packet) == 0, "read %zd bytes: %s", got,
              text);
    }
    CHECK((fcntl(ends[1], F_GETFL) & O_DIRECT) != 0, "not in packet mode any more");
}
