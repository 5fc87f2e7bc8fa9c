// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a deleted working directory") {
    SYS(mkdir("gone", 0755));
    SYS(chdir("gone"));
    SYS(rmdir("../gone"));
    me.wait_for_check();
    char path[4096] = {};
    CHECK(getcwd(path, sizeof path) == nullptr && errno == ENOENT, "in %s", path);
    char link[4096] = {};
    SYS(readlink("/proc/self/cwd", link, sizeof link - 1));
    CHECK(strstr(link, "/gone (deleted)") != nullptr, "in %s", link);
    struct stat info {};
    SYS(stat(".", &info));
    CHECK(S_ISDIR(info.st_mode) && info.st_nlink == 0, "%lu links", static_cast<unsigned long>(info.st_nlink));
}
