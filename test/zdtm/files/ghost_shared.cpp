// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("two processes opened one deleted file, and a third process shares one of the descriptions") {
    zdtm::write_file("gone", "0123456789");
    const int file = SYS(open("gone", O_RDWR));
    const auto open_own = [](zdtm::Task& task) {
        const int own = SYS(open("gone", O_RDWR));
        SYS(lseek(own, 5, SEEK_SET));
        task.wait_for_check();
        char byte = 0;
        CHECK(pread(own, &byte, 1, 0) == 1 && byte == 'x', "not the parent's file: %c", byte);
        CHECK(read(own, &byte, 1) == 1 && byte == '5', "read %c", byte);
    };
    const pid_t first = me.start_child(open_own);
    const pid_t second = me.start_child(open_own);
    const pid_t third = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        char byte = 0;
        CHECK(read(file, &byte, 1) == 1 && byte == '0', "the offset isn't shared: %c", byte);
    });
    SYS(unlink("gone"));
    me.wait_for_check();

    // Writes after the third child has read the first byte.
    me.finish(third);
    CHECK(pwrite(file, "x", 1, 0) == 1, "%s", strerror(errno));
    me.finish(first);
    me.finish(second);
}
