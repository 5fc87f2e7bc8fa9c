// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed, restore-killed, restore-all-killed
#include <fcntl.h>
#include <sys/ioctl.h>

#include "zdtm.hpp"

ZDTM("a pipe keeps its data, its size and O_NONBLOCK") {
    int ends[2];
    SYS(pipe2(ends, O_NONBLOCK));
    const int capacity = SYS(fcntl(ends[1], F_SETPIPE_SZ, 1 << 18));
    std::byte out[5000];
    zdtm::fill(out, 3);
    CHECK(write(ends[1], out, sizeof out) == sizeof out, "%s", strerror(errno));
    me.wait_for_check();

    CHECK(fcntl(ends[0], F_GETPIPE_SZ) == capacity, "was %d, is %d", capacity, fcntl(ends[0], F_GETPIPE_SZ));
    CHECK((fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0, "the read end blocks");
    CHECK((fcntl(ends[1], F_GETFL) & O_NONBLOCK) != 0, "the write end blocks");
    int queued = 0;
    SYS(ioctl(ends[0], FIONREAD, &queued));
    CHECK(queued == static_cast<int>(sizeof out), "%d bytes in the pipe", queued);
    std::byte in[sizeof out] = {};
    CHECK(read(ends[0], in, sizeof in) == sizeof in, "%s", strerror(errno));
    CHECK(zdtm::first_difference(in, 3) < 0, "the data changed");
    CHECK(read(ends[0], in, 1) == -1 && errno == EAGAIN, "more data than before");
    CHECK(write(ends[1], "z", 1) == 1 && read(ends[0], in, 1) == 1, "the ends aren't connected");
    SYS(close(ends[1]));
    CHECK(read(ends[0], in, 1) == 0, "someone else holds the write end");
}
