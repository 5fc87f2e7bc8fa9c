// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ \(/proc/1/comm\) belongs to a process, on a proc file system that shows another pid namespace
#include <fcntl.h>

#include "mounts.hpp"
#include "proc_files.hpp"

ZDTM("a dump refuses a process' file that was opened before the tree got mounts and a /proc of its own") {
    const int file = SYS(open("/proc/1/comm", O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_mounts();
    zdtm::mount_on("/proc", "proc");
    const std::string name = zdtm::content_of(file);
    me.wait_for_check();
    CHECK(zdtm::content_of(file) == name, "it is that of %s instead of %s", zdtm::content_of(file).c_str(),
          name.c_str());
}
