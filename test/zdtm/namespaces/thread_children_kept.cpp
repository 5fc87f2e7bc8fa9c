// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it has one namespace of a kind
#include <sched.h>
#include <sys/personality.h>
#include <sys/wait.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

constexpr const char* kKinds[] = {"uts", "net", "ipc", "cgroup", "time", "mnt", "pid", "user"};

std::string space(const std::string& whose, const char* kind) {
    char link[64] = {};
    SYS(readlink(("/proc/" + whose + "/ns/" + kind).c_str(), link, sizeof(link) - 1));
    return link;
}

void require_same(const std::string& other, const char* what) {
    for (const char* const kind : kKinds) {
        const std::string own = space("thread-self", kind);
        CHECK(space(other, kind) == own, "%s: %s, %s", what, own.c_str(), space(other, kind).c_str());
    }
}

}  // namespace

ZDTM("threads with children: threads and children are in the namespaces that their process has entered") {
    constexpr unsigned kPersonality = ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT;
    const pid_t family = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWCGROUP));
        SYS(personality(kPersonality));
        pid_t child = 0;
        zdtm::Threads threads(
            2,
            [&](unsigned index) {
                if (index == 1)
                    child = task.start_child([](zdtm::Task& born) {
                        born.wait_for_check();
                        require_same(std::to_string(getppid()), "a child");
                    });
            },
            [&](unsigned index) {
                require_same("self", "a thread");
                CHECK(personality(0xffffffff) == kPersonality, "personality %x", personality(0xffffffff));
                int status = 0;
                if (index == 0)
                    CHECK(waitpid(child, &status, __WNOTHREAD) == -1 && errno == ECHILD, "the other has no child");
                else
                    task.finish(child);
            });
        task.wait_for_check();
        threads.finish();
    });
    me.wait_for_check();
    me.finish(family);
}
