// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it joins the packets
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a pipe in packet mode (O_DIRECT) keeps the packet boundaries") {
    int ends[2];
    SYS(pipe2(ends, O_DIRECT | O_NONBLOCK));
    for (const char* packet : {"one", "three", "seven"}) {
        CHECK(write(ends[1], packet, strlen(packet)) > 0, "%s", strerror(errno));
    }
    // A single packet, or one of one byte, looks like plain bytes. A pipe in packet mode may hold plain bytes from
    // before.
    int lone[2];
    int byte[2];
    int plain[2];
    for (int* const pipe : {lone, byte, plain}) {
        SYS(pipe2(pipe, O_DIRECT | O_NONBLOCK));
    }
    CHECK(write(lone[1], "lone", 4) == 4 && write(byte[1], "b", 1) == 1, "%s", strerror(errno));
    SYS(fcntl(plain[1], F_SETFL, O_NONBLOCK));
    CHECK(write(plain[1], "plain", 5) == 5, "%s", strerror(errno));
    SYS(fcntl(plain[1], F_SETFL, O_NONBLOCK | O_DIRECT));
    me.wait_for_check();
    char read_next[16] = {};
    for (int* const pipe : {lone, byte}) {
        const ssize_t size = pipe == lone ? 4 : 1;
        CHECK(write(pipe[1], "more", 4) == 4, "%s", strerror(errno));
        CHECK(read(pipe[0], read_next, sizeof read_next) == size, "packets were joined: %s", read_next);
        CHECK(read(pipe[0], read_next, sizeof read_next) == 4, "read %s", read_next);
    }
    CHECK(read(plain[0], read_next, 2) == 2, "%s", strerror(errno));
    CHECK(read(plain[0], read_next, 8) == 3, "plain bytes became a packet");
    for (const char* packet : {"one", "three", "seven"}) {
        char text[16] = {};
        const ssize_t got = read(ends[0], text, sizeof text);
        CHECK(got == static_cast<ssize_t>(strlen(packet)) && strcmp(text, packet) == 0, "read %zd bytes: %s", got,
              text);
    }
    CHECK((fcntl(ends[1], F_GETFL) & O_DIRECT) != 0, "not in packet mode any more");
}
