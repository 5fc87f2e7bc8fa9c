// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*refers to a thread \(PIDFD_THREAD\)
#include <fcntl.h>
#include <sys/syscall.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a pidfd of a thread") {
    std::atomic<pid_t> tid{0};
    zdtm::Threads threads(
        1, [&](unsigned) { tid = gettid(); }, [](unsigned) {});
    threads.wait_arrived();
    constexpr unsigned kThread = O_EXCL;  // PIDFD_THREAD
    const long file = syscall(SYS_pidfd_open, tid.load(), kThread);
    if (file == -1) {
        zdtm::skip("no pidfds of threads: %s", strerror(errno));
    }
    me.wait_for_check();
    SYS(close(static_cast<int>(file)));
    threads.finish();
}
