// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("the file of a socket keeps mode and owner") {
    const mode_t before = umask(0);
    const int fd = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path("file"));
    umask(before);
    SYS(chown("file", 12, 34));
    SYS(chmod("file", 0640));
    me.wait_for_check();

    struct stat stat {};
    SYS(lstat("file", &stat));
    CHECK(stat.st_mode == (S_IFSOCK | 0640), "mode %#o", stat.st_mode);
    CHECK(stat.st_uid == 12 && stat.st_gid == 34, "owner %u:%u", stat.st_uid, stat.st_gid);
    (void)fd;
}
