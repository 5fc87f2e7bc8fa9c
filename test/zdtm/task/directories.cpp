// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>

#include "zdtm.hpp"

namespace {
std::string here() {
    char path[4096] = {};
    CHECK(getcwd(path, sizeof path) != nullptr, "%s", strerror(errno));
    return path;
}
}  // namespace

ZDTM("working directory and file mode creation mask, different in each task") {
    SYS(mkdir("below", 0755));
    SYS(mkdir("below/deeper", 0700));
    const std::string top = here();
    umask(0123);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        SYS(chdir("below/deeper"));
        umask(077);
        task.wait_for_check();
        CHECK(here() == top + "/below/deeper", "in %s", here().c_str());
        CHECK(umask(0) == 077, "another mask");
    });
    SYS(chdir("below"));
    me.wait_for_check();
    CHECK(here() == top + "/below", "in %s", here().c_str());
    CHECK(umask(0) == 0123, "another mask");
    me.finish(child);
}
