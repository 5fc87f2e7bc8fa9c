// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
#include <fcntl.h>
#include <sys/file.h>

#include "patience.hpp"
#include "zdtm.hpp"

ZDTM("processes that wait for a lock continue to wait, and get it") {
    const int file = SYS(open("file", O_RDWR | O_CREAT, 0644));
    SYS(flock(file, LOCK_EX));
    struct flock range {};
    range.l_type = F_WRLCK;
    SYS(fcntl(file, F_SETLK, &range));
    int done[2];
    SYS(pipe2(done, O_NONBLOCK));
    const auto wait_for = [&](auto&& take) {
        const pid_t child = me.start_child([&](zdtm::Task& task) {
            const int own = SYS(open("file", O_RDWR));
            task.ready();
            take(own);
            SYS(write(done[1], "x", 1));
            task.wait_trigger();
        });
        while (zdtm::status_field("/proc/" + std::to_string(child) + "/status", "State")[0] != 'S') {
            usleep(1000);
        }
        return child;
    };
    const pid_t flocker = wait_for([](int own) { SYS(flock(own, LOCK_EX)); });
    const pid_t posix = wait_for([&range](int own) { SYS(fcntl(own, F_SETLKW, &range)); });

    me.wait_for_check();

    char byte = 0;
    CHECK(read(done[0], &byte, 1) == -1 && errno == EAGAIN, "a process got the lock");
    SYS(flock(file, LOCK_UN));
    range.l_type = F_UNLCK;
    SYS(fcntl(file, F_SETLK, &range));
    for (int got = 0, tries = 0; got < 2; ++tries) {
        CHECK(tries < zdtm::kPatience, "%d of 2 got their locks", got);
        got += read(done[0], &byte, 1) == 1 ? 1 : 0;
        usleep(1000);
    }
    me.finish(flocker);
    me.finish(posix);
}
