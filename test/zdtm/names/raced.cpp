// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, raced
// zdtm: dump-options --ghost-limit 20M
// zdtm: timeout 120
#include <fcntl.h>

#include "other_user.hpp"
#include "unix_sockets.hpp"

ZDTM("a user exchanges files and links all the time while a restore opens them") {
    zdtm::make_users_directory("mine");
    zdtm::make_users_directory("mine/sub");
    zdtm::make_users_file("mine/data", "0123456789");
    zdtm::make_users_file("mine/sub/inner", "0123456789");
    zdtm::become_user();
    const int file = SYS(open("mine/data", O_RDWR));
    const int inner = SYS(open("mine/sub/inner", O_RDWR));
    const int gone = SYS(open("mine/gone", O_RDWR | O_CREAT, 0666));
    SYS(fchmod(gone, 0666));
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 16; ++i) {
        SYS(write(gone, block.data(), block.size()));
    }
    SYS(unlink("mine/gone"));
    SYS(mkfifo("mine/pipe", 0666));
    const int pipe = SYS(open("mine/pipe", O_RDWR));
    SYS(unlink("mine/pipe"));
    const int socket = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path("mine/name"));
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
    CHECK(read(inner, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
    struct stat info {};
    SYS(fstat(gone, &info));
    CHECK(info.st_nlink == 0 && (info.st_mode & 07777) == 0666, "mode %o", info.st_mode);
    (void)pipe;
    (void)socket;
}
