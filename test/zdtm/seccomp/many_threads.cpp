// SPDX-License-Identifier: GPL-2.0-only
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("three hundred threads with private filters, whose filters forbid taking on their ids") {
    constexpr unsigned count = 300;
    constexpr int first = 20;
    constexpr unsigned kinds = 7;
    const auto error = [](unsigned index) { return first + static_cast<int>(index % kinds); };
    zdtm::Threads threads(
        count,
        [&](unsigned index) {
            SYS(zdtm::deny(SYS_getsid, error(index)));
            SYS(zdtm::install_filter(SYS_setgroups, SECCOMP_RET_KILL_PROCESS));
            SYS(syscall(SYS_setresgid, 2000, 2001, 2002));
        },
        [&](unsigned index) {
            CHECK(syscall(SYS_getsid, 0) == -1 && errno == error(index), "thread %u: %s", index, strerror(errno));
            gid_t ids[3] = {};
            SYS(syscall(SYS_getresgid, &ids[0], &ids[1], &ids[2]));
            CHECK(ids[0] == 2000 && ids[1] == 2001 && ids[2] == 2002, "thread %u: groups %u %u %u", index, ids[0],
                  ids[1], ids[2]);
        });
    me.wait_for_check();
    threads.finish();
    CHECK(getgid() == 0 && getsid(0) > 0, "the first thread has changed");
}
