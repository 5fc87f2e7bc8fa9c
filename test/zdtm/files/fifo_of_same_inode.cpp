// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it takes fifos of the same inode number for one
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("two fifos with the same inode number on different file systems") {
    int fifos[2];
    ino_t inodes[2];
    for (int i = 0; i < 2; ++i) {
        const std::string folder = i == 0 ? "one" : "other";
        SYS(mkdir(folder.c_str(), 0755));
        SYS(mount("none", folder.c_str(), "tmpfs", 0, nullptr));
        SYS(mkfifo((folder + "/fifo").c_str(), 0600));
        fifos[i] = SYS(open((folder + "/fifo").c_str(), O_RDWR | O_NONBLOCK));
        CHECK(write(fifos[i], folder.c_str(), folder.size()) > 0, "%s", strerror(errno));
        struct stat info {};
        SYS(fstat(fifos[i], &info));
        inodes[i] = info.st_ino;
    }
    CHECK(inodes[0] == inodes[1], "their inodes are %lu and %lu", inodes[0], inodes[1]);
    me.wait_for_check();

    for (int i = 0; i < 2; ++i) {
        const std::string folder = i == 0 ? "one" : "other";
        char text[16] = {};
        SYS(read(fifos[i], text, sizeof text));
        CHECK(text == folder, "the fifo in %s has %s", folder.c_str(), text);
        SYS(close(fifos[i]));
        SYS(umount(folder.c_str()));
    }
}
