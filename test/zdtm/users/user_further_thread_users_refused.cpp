// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused has other users or groups than the process
#include <sys/syscall.h>

#include "threads.hpp"
#include "user_spaces.hpp"

namespace {

// Enters a user namespace with two users. A child in the upper namespace writes the map.
void enter_with_two_users() {
    int entered[2];
    SYS(pipe(entered));
    const pid_t writer = SYS(fork());
    char byte = 'x';
    if (writer == 0) {
        SYS(read(entered[0], &byte, 1));
        zdtm::write_text(("/proc/" + std::to_string(getppid()) + "/uid_map").c_str(), "0 0 2");
        _exit(0);
    }
    SYS(unshare(CLONE_NEWUSER));
    SYS(prctl(PR_SET_DUMPABLE, 1));
    SYS(write(entered[1], &byte, 1));
    CHECK(zdtm::wait_status(writer) == 0, "no map");
    SYS(close(entered[0]));
    SYS(close(entered[1]));
}

}  // namespace

ZDTM("a dump refuses threads with different users in a nested user namespace") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        enter_with_two_users();
        zdtm::Threads threads(
            1, [](unsigned) { syscall(SYS_setfsuid, 1); }, [](unsigned) {});
        threads.wait_arrived();
        task.wait_for_check();
        threads.finish();
    });
    me.wait_for_check();
    me.finish(child);
}
