// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 0 stat
// zdtm: fails-with-4.2 it doesn't look below mounts
#include <fcntl.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a hundred mounts that cover each other, with an open file in each, and some mounts beside them") {
    zdtm::enter_small_root();
    int files[100];
    for (int level = 0; level < 100; ++level) {
        zdtm::mount_on("/mnt", "tmpfs", "size=64k");
        zdtm::write_file("/mnt/file", std::to_string(level));
        files[level] = SYS(open("/mnt/file", O_RDONLY));
        if (level % 30 == 0)
            zdtm::mount_on("/mnt/below", "tmpfs", "size=64k");
    }
    const auto before = zdtm::mount_lines();
    me.wait_for_check();
    zdtm::check_mounts(before);
    for (int level = 0; level < 100; ++level) {
        char text[8] = {};
        SYS(pread(files[level], text, sizeof(text) - 1, 0));
        CHECK(text == std::to_string(level), "level %d has %s", level, text);
    }
}
