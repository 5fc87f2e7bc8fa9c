// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it takes the process for a zombie
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "ended_leader.hpp"
#include "seccomp.hpp"

namespace {

std::string rights_of(const std::string& status) {
    std::string all;
    for (const char* const name : {"Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs"})
        all += std::string(name) + " " + zdtm::status_field(status, name) + "\n";
    return all;
}

std::string seccomp_of(const std::string& status) {
    return zdtm::status_field(status, "Seccomp") + " " + zdtm::status_field(status, "Seccomp_filters");
}

}  // namespace

ZDTM("an ended main thread keeps its credentials, and living threads keep others and their seccomp filters") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(setregid(1234, 1234));
        zdtm::end_main_thread(0, [&task] {
            zdtm::await_main_end();
            SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
            // Changes only this thread: the C library would change all threads.
            SYS(syscall(SYS_setresuid, 4321, 4321, 4321));
            SYS(zdtm::deny(SYS_personality, EPERM));
            const std::string process = "/proc/" + std::to_string(getpid()) + "/status";
            const std::string thread =
                "/proc/" + std::to_string(getpid()) + "/task/" + std::to_string(gettid()) + "/status";
            const std::string before = rights_of(process) + rights_of(thread) + seccomp_of(thread);
            CHECK(rights_of(process) != rights_of(thread), "both threads have the same rights");
            task.wait_for_check();
            const std::string now = rights_of(process) + rights_of(thread) + seccomp_of(thread);
            CHECK(now == before, "rights were\n%s\nand are\n%s", before.c_str(), now.c_str());
            CHECK(syscall(SYS_personality, 0xffffffff) == -1, "the filter doesn't refuse the call");
        });
    });
    me.wait_for_check();
    me.finish(child);
}
