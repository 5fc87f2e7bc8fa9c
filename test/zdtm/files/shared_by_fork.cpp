// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("processes share descriptions after fork(2), also under different numbers") {
    zdtm::write_file("data", "0123456789");
    const int file = SYS(open("data", O_RDONLY));
    const int closed_here = SYS(open("data", O_RDONLY));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int moved = SYS(dup2(file, 50));
        SYS(close(file));
        const pid_t grandchild = task.start_child([&](zdtm::Task& inner) {
            inner.wait_for_check();
            char byte = 0;
            CHECK(read(moved, &byte, 1) == 1 && byte == '2', "the grandchild read %c", byte);
            CHECK(read(closed_here, &byte, 1) == 1 && byte == '0', "the grandchild read %c", byte);
        });
        task.wait_for_check();
        char byte = 0;
        CHECK(read(moved, &byte, 1) == 1 && byte == '1', "the child read %c", byte);
        task.finish(grandchild);
        CHECK(read(closed_here, &byte, 1) == 1 && byte == '1', "the child read %c", byte);
    });
    SYS(close(closed_here));
    me.wait_for_check();

    char byte = 0;
    CHECK(read(file, &byte, 1) == 1 && byte == '0', "read %c", byte);
    me.finish(child);
    CHECK(read(file, &byte, 1) == 1 && byte == '3', "read %c", byte);
}
