// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, attacked
// zdtm: timeout 120
// zdtm: fails-with-4.2 others can touch a process that isn't restored yet
#include <linux/capability.h>
#include <sys/syscall.h>

#include "many_mappings.hpp"
#include "zdtm.hpp"

namespace {
// Drops all capabilities, as root of a container with the machine's uids does. A process that only loses capabilities
// stays dumpable.
void lose_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    SYS(syscall(SYS_capset, &header, none));
}
}  // namespace

ZDTM("processes of root without capabilities, some of which take longer to restore, under attack") {
    const auto quick = [](zdtm::Task& task) {
        lose_capabilities();
        task.wait_for_check();
    };
    const auto slow = [](zdtm::Task& task) {
        zdtm::make_many_mappings();
        lose_capabilities();
        task.wait_for_check();
    };
    const pid_t children[] = {me.start_child(slow), me.start_child(quick), me.start_child(slow), me.start_child(quick)};
    me.wait_for_check();
    for (const pid_t child : children)
        me.finish(child);
}
