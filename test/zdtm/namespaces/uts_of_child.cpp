// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one UTS namespace only
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "zdtm.hpp"

ZDTM("a child in a private UTS namespace, and a parent in the machine's") {
    utsname machine{};
    SYS(uname(&machine));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUTS));
        SYS(sethostname("of-child", 8));
        task.wait_for_check();
        utsname names{};
        SYS(uname(&names));
        CHECK(names.nodename == std::string("of-child"), "the host is called %s", names.nodename);
    });
    me.wait_for_check();
    utsname names{};
    SYS(uname(&names));
    CHECK(names.nodename == std::string(machine.nodename), "the host is called %s", names.nodename);
    me.finish(child);
}
