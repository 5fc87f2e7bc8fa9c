// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, file-missing, file-changed
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("restores that fail because a file is missing or differs") {
    zdtm::write_file("ghost", "ghost");
    const int ghost = SYS(open("ghost", O_RDONLY));
    SYS(unlink("ghost"));
    zdtm::write_file("data", "0123456789");
    const int file = SYS(open("data", O_RDONLY));
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
    CHECK(read(ghost, text, 5) == 5 && memcmp(text, "ghost", 5) == 0, "read %s", text);
    me.finish(child);
}
