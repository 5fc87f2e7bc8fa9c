// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a program that closed standard input and standard error") {
    SYS(close(STDIN_FILENO));
    SYS(close(STDERR_FILENO));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        // The child closes its standard output, too. The parent reports for it.
        const int keep = SYS(dup2(STDOUT_FILENO, 20));
        SYS(close(STDOUT_FILENO));
        task.wait_for_check();
        SYS(dup2(keep, STDOUT_FILENO));
        CHECK(fcntl(STDIN_FILENO, F_GETFD) == -1, "the child has a standard input");
    });
    me.wait_for_check();
    CHECK(fcntl(STDIN_FILENO, F_GETFD) == -1 && errno == EBADF, "there is a standard input");
    CHECK(fcntl(STDERR_FILENO, F_GETFD) == -1 && errno == EBADF, "there is a standard error");
    me.finish(child);
}
