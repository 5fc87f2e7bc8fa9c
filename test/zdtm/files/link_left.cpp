// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*(pid|process) 2\b)(?=.*(fd 3\b|cwd/name)).*--link-remap
// zdtm: fails-with-4.2 its message names neither pid nor file descriptor
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("without --link-remap a dump refuses a file that has lost one of its names") {
    zdtm::write_file("name", "content");
    const int file = SYS(open("name", O_RDWR));
    SYS(mkdir("elsewhere", 0700));
    SYS(link("name", "elsewhere/other"));  // criu would find a name in the same directory
    SYS(unlink("name"));
    me.wait_for_check();
    char text[8] = {};
    CHECK(read(file, text, 7) == 7 && strcmp(text, "content") == 0, "read %s", text);
}
