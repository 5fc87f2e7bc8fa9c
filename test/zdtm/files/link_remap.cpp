// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged, other-link, new-pidns, new-pidns-again
// zdtm: dump-options --link-remap
// zdtm: not-in all-killed, dump-killed
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("--link-remap restores a file by a deleted name while another name is left") {
    zdtm::write_file("name", "content");
    const int file = SYS(open("name", O_RDWR));
    SYS(link("name", "other"));
    SYS(unlink("name"));
    const pid_t child = me.start_child([&](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();

    struct stat mine {};
    struct stat left {};
    SYS(fstat(file, &mine));
    SYS(stat("other", &left));
    CHECK(mine.st_ino == left.st_ino && mine.st_dev == left.st_dev, "not the same file any more");
    CHECK(mine.st_nlink == 1, "%lu links", static_cast<unsigned long>(mine.st_nlink));
    CHECK(access("name", F_OK) == -1, "the deleted name is back");
    CHECK(pwrite(file, "C", 1, 0) == 1, "%s", strerror(errno));
    CHECK(zdtm::read_file("other") == "Content", "%s", zdtm::read_file("other").c_str());
    me.finish(child);
}
