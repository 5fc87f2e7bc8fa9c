// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused has several threads, and is in a user namespace other than that of the tree
#include <atomic>
#include <thread>

#include "user_spaces.hpp"

ZDTM("a dump refuses a process with several threads in a nested user namespace") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUSER));
        std::atomic<bool> stop = false;
        std::thread other([&] {
            while (!stop)
                usleep(1000);
        });
        task.wait_for_check();
        stop = true;
        other.join();
    });
    me.wait_for_check();
    me.finish(child);
}
