// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it refuses who has its children in another time namespace
#include <linux/sched.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "clocks.hpp"
#include "zdtm.hpp"

namespace {

constexpr std::int64_t ahead = 400'000 * zdtm::second;

bool is_ahead_of(const zdtm::Clocks& machine) {
    const std::int64_t now = zdtm::read_clock(CLOCK_MONOTONIC);
    return now > machine.monotonic() + ahead && now < machine.monotonic() + ahead + 3600 * zdtm::second;
}

}  // namespace

ZDTM("a process with a time namespace for its children is outside of it, and its children are inside") {
    const zdtm::Clocks machine;
    if (unshare(CLONE_NEWTIME) != 0)
        zdtm::skip("no time namespaces: %s", strerror(errno));
    zdtm::write_file("/proc/self/timens_offsets", "monotonic 400000 0\nboottime 400000 0\n");
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        CHECK(is_ahead_of(machine), "the child isn't in the namespace");
        const pid_t below = task.start_child([&](zdtm::Task& inner) {
            inner.wait_for_check();
            CHECK(is_ahead_of(machine), "the grandchild's clock is another one");
        });
        task.wait_for_check();
        CHECK(is_ahead_of(machine), "the child's clock is another one");
        task.finish(below);
    });
    me.wait_for_check();
    machine.check();
    const pid_t later = SYS(fork());
    if (later == 0)
        _exit(is_ahead_of(machine) ? 0 : 1);
    int status = 0;
    SYS(waitpid(later, &status, 0));
    CHECK(status == 0, "a new child isn't in the namespace: %#x", status);
    me.finish(child);
    machine.check();
}
