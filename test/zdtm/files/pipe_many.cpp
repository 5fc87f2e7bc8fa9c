// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("500 pipes with data") {
    struct Pipe {
        int ends[2];
    };
    std::vector<Pipe> pipes(500);
    for (unsigned i = 0; i < pipes.size(); ++i) {
        SYS(pipe2(pipes[i].ends, i % 2 == 0 ? O_NONBLOCK : 0));
        const std::string text(i, static_cast<char>('a' + i % 26));
        CHECK(write(pipes[i].ends[1], text.data(), text.size()) == static_cast<ssize_t>(i), "%s", strerror(errno));
    }
    me.wait_for_check();

    for (unsigned i = 0; i < pipes.size(); ++i) {
        SYS(close(pipes[i].ends[1]));
        std::string text(1000, '\0');
        const ssize_t got = SYS(read(pipes[i].ends[0], text.data(), text.size()));
        text.resize(static_cast<std::size_t>(got));
        CHECK(text == std::string(i, static_cast<char>('a' + i % 26)), "pipe %u: %zd bytes", i, got);
    }
}
