// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --link-remap
// zdtm: not-in leave-running, all-killed, dump-killed, lazy-killed
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a file has lost its name together with the directory, and has another name elsewhere") {
    SYS(mkdir("gone", 0755));
    SYS(mkdir("gone/too", 0755));
    const int file = SYS(open("gone/too/file", O_RDWR | O_CREAT, 0640));
    SYS(link("gone/too/file", "other"));
    SYS(unlink("gone/too/file"));
    SYS(rmdir("gone/too"));
    SYS(rmdir("gone"));
    SYS(write(file, "data", 4));
    me.wait_for_check();
    char text[8] = {};
    CHECK(pread(file, text, sizeof(text), 0) == 4 && std::memcmp(text, "data", 4) == 0, "got '%s'", text);
    struct stat own {};
    struct stat named {};
    SYS(fstat(file, &own));
    SYS(stat("other", &named));
    CHECK(own.st_ino == named.st_ino && own.st_nlink == 1, "%lu links", static_cast<unsigned long>(own.st_nlink));
    struct stat nothing {};
    CHECK(stat("gone", &nothing) != 0 && errno == ENOENT, "the directory is there");
}
