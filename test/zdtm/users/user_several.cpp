// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users yes
// zdtm: fails-with-4.2 it restores one namespace of each kind only
#include <sched.h>
#include <sys/msg.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "clocks.hpp"
#include "sysv_shm.hpp"
#include "zdtm.hpp"

namespace {

constexpr key_t key = 0x77;
constexpr std::size_t size = 20'000;

bool called(const std::string& host) {
    utsname names{};
    SYS(uname(&names));
    return names.nodename == host;
}

}  // namespace

ZDTM("in a user namespace, a child has private UTS, IPC, time and cgroup namespaces that belong to it") {
    SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC));
    SYS(sethostname("first", 5));
    const std::span<std::byte> memory = zdtm::attach(SYS(shmget(key, size, IPC_CREAT | 0600)), size);
    zdtm::fill(memory, 1);
    const zdtm::Clocks outer;
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        SYS(shmdt(memory.data()));
        SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP));
        SYS(sethostname("child", 5));
        zdtm::enter_new_time(3600, 3600);
        const std::span<std::byte> own = zdtm::attach(SYS(shmget(key, size, IPC_CREAT | IPC_EXCL | 0600)), size);
        zdtm::fill(own, 2);
        const zdtm::Clocks clocks;
        task.wait_for_check();
        clocks.check();
        CHECK(called("child"), "the child's host has another name");
        CHECK(zdtm::first_difference(own, 2) < 0, "the child's memory changed");
        const std::span<std::byte> again = zdtm::attach(SYS(shmget(key, 0, 0)), size);
        CHECK(zdtm::first_difference(again, 2) < 0, "the child's segment isn't what it has attached");
        SYS(sethostname("changed", 7));  // root of the owning user namespace may do this
    });
    me.wait_for_check();
    outer.check();
    CHECK(called("first"), "the host has another name");
    CHECK(zdtm::first_difference(memory, 1) < 0, "the memory changed");
    me.finish(child);
    CHECK(called("first"), "the child has changed another namespace");
}
