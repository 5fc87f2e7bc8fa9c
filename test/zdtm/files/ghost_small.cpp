// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged, all-killed, restore-killed, calls-fail, restore-calls-fail
// zdtm: fails restore EIO newfstatat files::openUnderName
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a deleted file keeps content, mode, owner and offset, and stays deleted") {
    zdtm::write_file("gone", "0123456789");
    SYS(chmod("gone", 0640));
    SYS(chown("gone", 12, 34));
    const int file = SYS(open("gone", O_RDWR));
    const int reader = SYS(open("gone", O_RDONLY));
    SYS(lseek(file, 6, SEEK_SET));
    SYS(unlink("gone"));
    me.wait_for_check();

    struct stat info {};
    SYS(fstat(file, &info));
    CHECK(info.st_nlink == 0, "%lu links", static_cast<unsigned long>(info.st_nlink));
    CHECK((info.st_mode & 07777) == 0640 && info.st_uid == 12 && info.st_gid == 34, "mode 0%o, owner %u:%u",
          info.st_mode, info.st_uid, info.st_gid);
    CHECK(info.st_size == 10, "%ld bytes", info.st_size);
    CHECK(access("gone", F_OK) == -1, "the file has its name back");
    CHECK(write(file, "x", 1) == 1, "%s", strerror(errno));
    char text[11] = {};
    CHECK(read(reader, text, 10) == 10 && strcmp(text, "012345x789") == 0, "read %s", text);
}
