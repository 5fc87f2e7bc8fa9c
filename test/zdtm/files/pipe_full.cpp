// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("full pipes of the default size and of 1 MiB, and a pipe with partly used pages") {
    int usual[2];
    int large[2];
    int pieces[2];
    SYS(pipe2(usual, O_NONBLOCK));
    SYS(pipe2(large, O_NONBLOCK));
    SYS(pipe2(pieces, O_NONBLOCK));
    SYS(fcntl(large[1], F_SETPIPE_SZ, 1 << 20));
    const std::span<std::byte> data = zdtm::map(std::size_t{1} << 20);
    zdtm::fill(data, 1);
    CHECK(write(usual[1], data.data(), data.size()) == 65536, "%s", strerror(errno));
    CHECK(write(large[1], data.data(), data.size()) == 1 << 20, "%s", strerror(errno));
    // The kernel takes a new buffer for each write that doesn't fit into the last one.
    std::size_t written = 0;
    for (int i = 0; i < 10; ++i) {
        CHECK(write(pieces[1], &data[written], 3000) == 3000, "%s", strerror(errno));
        written += 3000;
    }
    std::byte first[100];
    CHECK(read(pieces[0], first, sizeof first) == sizeof first, "%s", strerror(errno));
    me.wait_for_check();

    CHECK(write(usual[1], "x", 1) == -1 && errno == EAGAIN, "there is room in the usual pipe");
    CHECK(write(large[1], "x", 1) == -1 && errno == EAGAIN, "there is room in the large pipe");
    const std::span<std::byte> got = zdtm::map(std::size_t{1} << 20);
    CHECK(read(large[0], got.data(), got.size()) == 1 << 20, "%s", strerror(errno));
    CHECK(memcmp(got.data(), data.data(), data.size()) == 0, "the large pipe's data changed");
    CHECK(read(usual[0], got.data(), got.size()) == 65536, "%s", strerror(errno));
    CHECK(memcmp(got.data(), data.data(), 65536) == 0, "the usual pipe's data changed");
    CHECK(read(pieces[0], got.data(), got.size()) == 30000 - 100, "%s", strerror(errno));
    CHECK(memcmp(got.data(), &data[100], 30000 - 100) == 0, "the pieces changed");
}
