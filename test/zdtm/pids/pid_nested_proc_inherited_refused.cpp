// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused is also open in process [0-9]+, whose pid namespace doesn't see process
#include <fcntl.h>

#include "nested_pids.hpp"

ZDTM("a dump refuses a file of a process in /proc that a process of a nested pid namespace has inherited") {
    const int file = SYS(open("/proc/self/stat", O_RDONLY));
    const pid_t first = zdtm::start_first(me, [file](zdtm::Task& task) {
        task.wait_for_check();
        char byte = 0;
        CHECK(read(file, &byte, 1) == 1, "%s", strerror(errno));
    });
    me.wait_for_check();
    me.finish(first);
}
