// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
#include <fcntl.h>

#include "proc_files.hpp"

ZDTM("a tree with a pid namespace has files of criu's /proc open: of no process, and of a process outside") {
    const int file = SYS(open("/proc/1/comm", O_RDONLY | O_CLOEXEC));
    const int common = SYS(open("/proc/sys/kernel/ostype", O_RDONLY | O_CLOEXEC));
    const std::string name = zdtm::content_of(file);
    me.wait_for_check();
    CHECK(zdtm::content_of(file) == name, "it is that of %s instead of %s", zdtm::content_of(file).c_str(),
          name.c_str());
    CHECK(zdtm::content_of(common) == "Linux\n", "%s", zdtm::content_of(common).c_str());
}
