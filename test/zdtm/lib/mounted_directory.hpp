// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace zdtm {

// Bind-mounts the directory "inner" on the directory "point" in a private mount namespace, and requires the mount after
// the restore.
inline void keep_mount(Task& me) {
    SYS(mkdir("inner", 0755));
    write_file("inner/file", "x");
    SYS(mkdir("point", 0755));
    const std::string here = get_current_dir_name();
    enter_small_root();
    bind_on(here + "/inner", here + "/point");
    me.wait_for_check();

    CHECK(read_file(here + "/point/file") == "x", "another directory is mounted");
}

}  // namespace zdtm
