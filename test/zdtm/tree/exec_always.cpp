// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore tree, .*
#include <fcntl.h>

#include "patience.hpp"
#include "zdtm.hpp"

namespace {

// Runs a shell that executes itself again and again, and writes down a counter.
constexpr const char* kScript = R"(n=$1
printf %08d $n >&3
sleep 0.01
exec sh program $((n + 1)))";

long count(int file) {
    char text[9] = {};
    const off_t end = lseek(file, 0, SEEK_END);
    CHECK(pread(file, text, 8, end - end % 8 - 8) == 8, "nothing was written");
    return atol(text);
}

}  // namespace

ZDTM("a process that calls execve(2) all the time") {
    zdtm::write_file("program", kScript);
    const int file = SYS(memfd_create("counts", 0));
    const pid_t child = SYS(fork());
    if (child == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, nullptr);
        dup2(file, 3);
        execlp("sh", "sh", "program", "1", nullptr);
        _exit(1);
    }
    while (lseek(file, 0, SEEK_END) < 16) {
        usleep(1000);
    }
    me.wait_for_check();

    const long before = count(file);
    for (int i = 0; i < zdtm::kPatience / 10 && count(file) < before + 3; ++i) {
        usleep(10000);
    }
    CHECK(count(file) >= before + 3, "it stands still at %ld", before);
    zdtm::kill_and_reap(child);
}
