// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mv data away; mkfifo data
// zdtm: unplant rm data; mv away data
// zdtm: refused-with cwd/data is another kind of file
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a restore doesn't block on a fifo that has replaced a file") {
    zdtm::write_file("data", "0123456789");
    const int file = SYS(open("data", O_RDONLY));
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
}
