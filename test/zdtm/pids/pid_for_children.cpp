// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one pid namespace only
#include <sched.h>

#include <optional>
#include <string>

#include "nested_pids.hpp"

namespace {

std::optional<std::string> for_children() {
    char text[64] = {};
    if (readlink("/proc/self/ns/pid_for_children", text, sizeof(text) - 1) < 0)
        return std::nullopt;
    return text;
}

}  // namespace

ZDTM("processes whose pid namespace for children is another one: one has a process, one is still empty") {
    SYS(unshare(CLONE_NEWPID));
    const pid_t first = me.start_child([](zdtm::Task& task) {
        CHECK(getpid() == 1, "pid %d", getpid());
        task.wait_for_check();
        CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    });
    CHECK(for_children().has_value(), "children are born nowhere");

    me.wait_for_check();

    const pid_t second = SYS(fork());
    if (second == 0)
        _exit(getpid() == 2 ? 0 : getpid());
    const int status = zdtm::wait_status(second);
    CHECK(status == 0, "the second process of the namespace: %#x", unsigned(status));
    me.finish(first);
    CHECK(fork() < 0 && errno == ENOMEM, "a namespace that has ended has a new process");
}
