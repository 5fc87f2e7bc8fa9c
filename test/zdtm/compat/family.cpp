// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a tree of 32-bit processes and a 64-bit one with shared memory and a pipe") {
    const std::span<std::byte> common = zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const std::span<std::byte> own = zdtm::map(1 << 20);
    zdtm::fill(own, 3);
    int ends[2];
    SYS(pipe(ends));
    int back[2];
    SYS(pipe(back));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        own[8] ^= std::byte{1};
        const pid_t grandchild = task.start_child([&](zdtm::Task& other) {
            other.wait_for_check();
            CHECK(zdtm::first_difference(own, 3) == 8, "a grandchild's memory");
        });
        task.wait_for_check();
        CHECK(zdtm::first_difference(own, 3) == 8, "a child's memory");
        common[7] = std::byte{9};
        task.finish(grandchild);
    });
    // The machine's own programs are 64-bit.
    const pid_t cat = SYS(fork());
    if (cat == 0) {
        sigset_t none{};
        sigprocmask(SIG_SETMASK, &none, nullptr);
        dup2(ends[0], 0);
        dup2(back[1], 1);
        for (const int fd : {ends[0], ends[1], back[0], back[1]}) {
            close(fd);
        }
        execl("/bin/cat", "cat", nullptr);
        _exit(1);
    }
    close(ends[0]);
    close(back[1]);
    SYS(write(ends[1], "one", 3));
    char text[4] = {};
    CHECK(read(back[0], text, 3) == 3 && strcmp(text, "one") == 0, "cat says %s", text);
    me.wait_for_check();

    CHECK(zdtm::first_difference(own, 3) < 0, "the first process' memory");
    SYS(write(ends[1], "two", 3));
    CHECK(read(back[0], text, 3) == 3 && strcmp(text, "two") == 0, "cat says %s", text);
    me.finish(child);
    CHECK(common[7] == std::byte{9}, "shared memory isn't shared");
    close(ends[1]);
    CHECK(zdtm::wait_status(cat) == 0, "cat failed");
    // New children and execve(2) must work after the restore.
    const pid_t next = SYS(fork());
    if (next == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(1);
    }
    CHECK(zdtm::wait_status(next) == 0, "true failed");
}
