// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: fails-with-4.2 it signals breaches a second time
#include <fcntl.h>

#include "zdtm.hpp"

namespace {

int leased(const char* path, int access, int lease, int signal) {
    const int fd = SYS(open(path, access | O_CREAT, 0644));
    SYS(fcntl(fd, F_SETSIG, signal));
    SYS(fcntl(fd, F_SETLEASE, lease));
    return fd;
}

void break_lease(const char* path, int access) {
    const int fd = open(path, access | O_NONBLOCK);
    CHECK(fd == -1 && errno == EWOULDBLOCK, "open of %s: %d, %s", path, fd, strerror(errno));
}

// Returns the descriptor that the pending signal of this number names; -1 if no signal is pending.
int told(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    const timespec at_once{};
    siginfo_t info{};
    if (sigtimedwait(&set, &info, &at_once) < 0) {
        return -1;
    }
    siginfo_t more{};
    CHECK(sigtimedwait(&set, &more, &at_once) < 0, "a second signal");
    return info.si_fd;
}

}  // namespace

ZDTM("leases, and leases that another open(2) is breaking: the kernel sends the holder no second signal") {
    const int first = SIGRTMIN;
    const int second = SIGRTMIN + 1;
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, first);
    sigaddset(&both, second);
    SYS(sigprocmask(SIG_BLOCK, &both, nullptr));
    const int reader = leased("reader", O_RDONLY, F_RDLCK, first);
    const int writer = leased("writer", O_RDWR, F_WRLCK, first);
    const int breaking = leased("breaking", O_RDWR, F_WRLCK, second);
    const int downgraded = leased("downgraded", O_WRONLY, F_WRLCK, second);
    break_lease("breaking", O_WRONLY);
    CHECK(told(second) == breaking, "not told of the first breach");
    break_lease("downgraded", O_RDONLY);
    CHECK(told(second) == downgraded, "not told of the second breach");

    me.wait_for_check();

    CHECK(SYS(fcntl(reader, F_GETLEASE)) == F_RDLCK, "reader: %d", fcntl(reader, F_GETLEASE));
    CHECK(SYS(fcntl(writer, F_GETLEASE)) == F_WRLCK, "writer: %d", fcntl(writer, F_GETLEASE));
    CHECK(SYS(fcntl(breaking, F_GETLEASE)) == F_UNLCK, "breaking: %d", fcntl(breaking, F_GETLEASE));
    CHECK(SYS(fcntl(downgraded, F_GETLEASE)) == F_RDLCK, "downgraded: %d", fcntl(downgraded, F_GETLEASE));
    CHECK(told(second) == -1, "told of a breach a second time");
    break_lease("reader", O_WRONLY);
    CHECK(told(first) == reader, "not told of a breach after the restore");
    break_lease("writer", O_RDONLY);
    CHECK(told(first) == writer, "not told of a breach after the restore");
    SYS(fcntl(breaking, F_SETLEASE, F_UNLCK));
    SYS(close(SYS(open("breaking", O_WRONLY | O_NONBLOCK))));
    SYS(fcntl(downgraded, F_SETLEASE, F_UNLCK));
}
