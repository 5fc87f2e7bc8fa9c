// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also limited
// zdtm: not-in dump-killed
// A restore lets some of many plain siblings create the others with CLONE_PARENT.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <vector>

#include "zdtm.hpp"

namespace {

constexpr unsigned kChildren = 36;

// Lets a child lead a session or a group, or changes nothing.
void take_place(unsigned number) {
    if (number % 6 == 1) {
        SYS(setsid());
    } else if (number % 6 == 2) {
        SYS(setpgid(0, 0));
    }
}

}  // namespace

ZDTM("many siblings with sessions, groups, inherited pages and descriptors, and one with a child") {
    const pid_t parent = getpid();
    const pid_t session = getsid(0);
    const pid_t group = getpgrp();
    const std::size_t size = 8 * zdtm::page_size();
    const std::span<std::byte> inherited = zdtm::map(size);
    zdtm::fill(inherited, 1);
    const std::span<std::byte> changed = zdtm::map(size);
    zdtm::fill(changed, 2);
    int ends[2];
    SYS(pipe(ends));

    std::vector<pid_t> children;
    for (unsigned i = 0; i < kChildren; ++i) {
        children.push_back(me.start_child([&, i](zdtm::Task& task) {
            take_place(i);
            SYS(prctl(PR_SET_PDEATHSIG, i % 2 == 0 ? SIGTERM : SIGUSR1));
            if (i % 3 == 0) {
                zdtm::fill(changed, 100 + i);
            }
            const pid_t grandchild = i == 7 ? task.start_child([](zdtm::Task& last) { last.wait_for_check(); }) : 0;
            task.wait_for_check();
            int signal = 0;
            SYS(prctl(PR_GET_PDEATHSIG, &signal));
            CHECK(signal == (i % 2 == 0 ? SIGTERM : SIGUSR1), "child %u has death signal %d", i, signal);
            CHECK(getppid() == parent, "child %u has parent %d", i, getppid());
            CHECK(getsid(0) == (i % 6 == 1 ? getpid() : session), "child %u is in session %d", i, getsid(0));
            CHECK(getpgrp() == (i % 6 == 1 || i % 6 == 2 ? getpid() : group), "child %u is in group %d", i, getpgrp());
            CHECK(zdtm::first_difference(inherited, 1) < 0, "child %u has other memory", i);
            CHECK(zdtm::first_difference(changed, i % 3 == 0 ? 100 + i : 2) < 0, "child %u has other memory", i);
            const std::string shared = zdtm::smaps_field(inherited.data(), "Shared_Dirty");
            CHECK(shared != "0 kB", "child %u shares no pages with its parent", i);
            const unsigned char byte = static_cast<unsigned char>(i);
            SYS(write(ends[1], &byte, 1));
            if (grandchild != 0) {
                task.finish(grandchild);
            }
        }));
    }
    me.wait_for_check();
    for (unsigned i = 0; i < kChildren; ++i) {
        unsigned char byte = 0;
        me.finish(children[i]);
        SYS(read(ends[0], &byte, 1));
        CHECK(byte == i, "child %u wrote %u", i, byte);
    }
    CHECK(waitpid(-1, nullptr, 0) == -1 && errno == ECHILD, "there are more children");
}
