// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a program whose executable is deleted") {
    char link[4096] = {};
    SYS(readlink("/proc/self/exe", link, sizeof link - 1));
    if (strstr(link, "/copy") == nullptr) {
        // First run: executes a copy of the program.
        zdtm::write_file("copy", zdtm::read_file("/proc/self/exe"));
        SYS(chmod("copy", 0755));
        SYS(execl("./copy", "copy", nullptr));
    }
    SYS(unlink("copy"));
    me.wait_for_check();

    char now[4096] = {};
    SYS(readlink("/proc/self/exe", now, sizeof now - 1));
    CHECK(strcmp(now, (std::string(link) + " (deleted)").c_str()) == 0, "the executable is %s", now);
    CHECK(access("copy", F_OK) != 0, "the executable has its name back");
}
