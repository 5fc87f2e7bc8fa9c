// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a deleted directory, held open by two descriptors") {
    SYS(mkdir("gone", 0711));
    const int folder = SYS(open("gone", O_RDONLY | O_DIRECTORY));
    const int again = SYS(open("gone", O_RDONLY | O_DIRECTORY));
    SYS(rmdir("gone"));
    me.wait_for_check();

    struct stat info {};
    struct stat other {};
    SYS(fstat(folder, &info));
    SYS(fstat(again, &other));
    CHECK(S_ISDIR(info.st_mode) && (info.st_mode & 07777) == 0711 && info.st_nlink == 0, "mode 0%o, %lu links",
          info.st_mode, static_cast<unsigned long>(info.st_nlink));
    CHECK(info.st_ino == other.st_ino, "two directories");
    CHECK(openat(folder, "new", O_CREAT | O_WRONLY, 0600) == -1 && errno == ENOENT, "the directory is not deleted");
}
