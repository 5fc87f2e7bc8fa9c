// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("O_PATH descriptors of a file, a directory and a symbolic link") {
    zdtm::write_file("file", "data");
    SYS(mkdir("folder", 0755));
    zdtm::write_file("folder/inner", "inner");
    SYS(symlink("file", "link"));
    const int file = SYS(open("file", O_PATH | O_CLOEXEC));
    const int folder = SYS(open("folder", O_PATH | O_DIRECTORY));
    const int link = SYS(open("link", O_PATH | O_NOFOLLOW));
    me.wait_for_check();

    char byte = 0;
    CHECK(read(file, &byte, 1) == -1 && errno == EBADF, "an O_PATH descriptor can be read");
    CHECK((fcntl(file, F_GETFL) & O_PATH) != 0, "flags 0%o", fcntl(file, F_GETFL));
    CHECK((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec was lost");
    const int inner = SYS(openat(folder, "inner", O_RDONLY));
    CHECK(read(inner, &byte, 1) == 1 && byte == 'i', "another directory");
    char target[16] = {};
    SYS(readlinkat(link, "", target, sizeof target));
    CHECK(strcmp(target, "file") == 0, "another link: %s", target);
}
