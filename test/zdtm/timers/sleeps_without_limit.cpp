// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("calls that sleep until an event (read, write, wait4, futex) continue to sleep") {
    int empty[2];
    int full[2];
    SYS(pipe(empty));
    SYS(pipe(full));
    const std::vector<char> block(65536, 'x');
    CHECK(write(full[1], block.data(), block.size()) == 65536, "%s", strerror(errno));
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    std::atomic<int> awake{0};
    zdtm::Threads threads(4, [&](unsigned index, zdtm::Threads& all) {
        all.arrive();
        char byte = 0;
        switch (index) {
            case 0:
                CHECK(read(empty[0], &byte, 1) == 1 && byte == 'a', "read: %s", strerror(errno));
                break;
            case 1:
                CHECK(write(full[1], "b", 1) == 1, "write: %s", strerror(errno));
                break;
            case 2: {
                int status = 0;
                CHECK(waitpid(child, &status, 0) == child && status == 0, "waitpid: %s, status 0x%x", strerror(errno),
                      status);
                break;
            }
            default:
                all.wait_release();
                return;
        }
        ++awake;
    });
    usleep(20000);
    me.wait_for_check();

    CHECK(awake == 0, "%d sleepers woke up", awake.load());
    CHECK(write(empty[1], "a", 1) == 1, "%s", strerror(errno));
    std::vector<char> drain(65536);
    CHECK(read(full[0], drain.data(), drain.size()) == 65536, "%s", strerror(errno));
    SYS(kill(child, SIGTERM));
    threads.finish();
    CHECK(awake == 3, "%d sleepers woke up", awake.load());
    CHECK(read(full[0], drain.data(), drain.size()) == 1 && drain[0] == 'b', "the blocked write is lost");
}
