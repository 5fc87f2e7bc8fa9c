// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a deleted file in a deleted directory") {
    SYS(mkdir("outer", 0755));
    SYS(mkdir("outer/inner", 0755));
    zdtm::write_file("outer/inner/file", "content");
    const int file = SYS(open("outer/inner/file", O_RDONLY));
    SYS(unlink("outer/inner/file"));
    SYS(rmdir("outer/inner"));
    SYS(rmdir("outer"));
    me.wait_for_check();

    char text[8] = {};
    CHECK(read(file, text, 7) == 7 && strcmp(text, "content") == 0, "read %s", text);
    CHECK(access("outer", F_OK) == -1, "the directory is back");
}
