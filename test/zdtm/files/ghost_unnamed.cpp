// SPDX-License-Identifier: GPL-2.0-only
// zdtm: may-differ reg\.flags:
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a file that never had a name (O_TMPFILE)") {
    const int file = open(".", O_TMPFILE | O_RDWR, 0600);
    if (file < 0) {
        CHECK(errno == EOPNOTSUPP, "%s", strerror(errno));
        zdtm::skip("no O_TMPFILE on this file system");
    }
    CHECK(write(file, "content", 7) == 7, "%s", strerror(errno));
    me.wait_for_check();

    char text[8] = {};
    CHECK(pread(file, text, 7, 0) == 7 && strcmp(text, "content") == 0, "read %s", text);
    struct stat info {};
    SYS(fstat(file, &info));
    CHECK(info.st_nlink == 0, "%lu links", static_cast<unsigned long>(info.st_nlink));
}
