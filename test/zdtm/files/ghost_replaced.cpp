// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 3
// zdtm: may-differ reg\.name:
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a deleted file whose name a new file has") {
    zdtm::write_file("name", "old content");
    const int old = SYS(open("name", O_RDWR));
    SYS(unlink("name"));
    zdtm::write_file("name", "new");
    const int fresh = SYS(open("name", O_RDWR));
    me.wait_for_check();

    char text[16] = {};
    CHECK(read(old, text, sizeof text) == 11 && memcmp(text, "old content", 11) == 0, "read %s", text);
    CHECK(read(fresh, text, sizeof text) == 3 && memcmp(text, "new", 3) == 0, "read %s", text);
    CHECK(zdtm::read_file("name") == "new", "the name shows %s", zdtm::read_file("name").c_str());
}
