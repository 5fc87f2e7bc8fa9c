// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --ghost-links --link-remap
// zdtm: warns has other links.*--ghost-links
// zdtm: fails-with-4.2 it has no --ghost-links
// zdtm: not-in everything, five
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("--ghost-links keeps the content of a deleted file whose other links are elsewhere") {
    SYS(mkdir("elsewhere", 0700));
    zdtm::write_file("name", "content");
    const int file = SYS(open("name", O_RDWR));
    const int same = SYS(open("name", O_RDONLY));
    SYS(link("name", "elsewhere/name"));
    SYS(unlink("name"));
    me.wait_for_check();

    char text[16] = {};
    CHECK(pread(file, text, sizeof(text), 0) == 7 && std::string(text) == "content", "'%s'", text);
    CHECK(pwrite(file, "C", 1, 0) == 1, "%s", strerror(errno));
    CHECK(pread(same, text, sizeof(text), 0) == 7 && std::string(text) == "Content", "'%s'", text);
    CHECK(access("name", F_OK) == -1, "the deleted name is back");
    CHECK(zdtm::read_file("elsewhere/name").size() == 7, "the other link is lost");
}
