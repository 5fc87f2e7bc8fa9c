// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed,restore-killed,restore-terminated
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: ignore thread \d+ ShdPnd
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <vector>

#include "other_user.hpp"
#include "seccomp.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {

constexpr unsigned kKinds = 8;
constexpr unsigned kOfEachKind = 6;

void wait_with_threads(zdtm::Task& task) {
    zdtm::Threads threads(
        3, [](unsigned) {}, [](unsigned) {});
    task.wait_for_check();
    threads.finish();
}

void wait_with_signal(zdtm::Task& task) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    SYS(sigprocmask(SIG_BLOCK, &blocked, nullptr));
    SYS(raise(SIGUSR1));
    task.wait_for_check();
    sigset_t pending;
    SYS(sigpending(&pending));
    CHECK(sigismember(&pending, SIGUSR1) == 1, "lost SIGUSR1");
}

void wait_with_filter(zdtm::Task& task) {
    SYS(zdtm::deny(SYS_sync, EXDEV));
    task.wait_for_check();
    CHECK(syscall(SYS_sync) == -1 && errno == EXDEV, "%s", strerror(errno));
}

void wait_as_user(zdtm::Task& task) {
    zdtm::become_user();
    task.wait_for_check();
    CHECK(getuid() == zdtm::kOtherUser && geteuid() == zdtm::kOtherUser, "uid %u", geteuid());
    CHECK(prctl(PR_GET_DUMPABLE) == 0, "dumpable");
}

void wait_dumpable_as_user(zdtm::Task& task) {
    zdtm::become_user();
    SYS(prctl(PR_SET_DUMPABLE, 1));
    task.wait_for_check();
    CHECK(prctl(PR_GET_DUMPABLE) == 1, "not dumpable");
}

// `byte`: byte of the file that the process locks.
void wait_with_lock(zdtm::Task& task, unsigned byte) {
    const int file = SYS(open("locked", O_RDWR));
    struct flock range {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1, .l_pid = 0
    };
    SYS(fcntl(file, F_SETLK, &range));
    task.wait_for_check();
}

// Runs child number `i` until the check. Children of all kinds are mixed, so that each thread of criu gets all kinds.
void live(zdtm::Task& task, unsigned i) {
    switch (i % kKinds) {
        case 0:
            return wait_with_threads(task);
        case 1:
            return wait_with_signal(task);
        case 2:
            return wait_with_filter(task);
        case 3:
            return wait_as_user(task);
        case 4:
            return wait_dumpable_as_user(task);
        case 5:
            return wait_with_lock(task, i);
        default:  // numbers 6 are stopped
            return task.wait_for_check();
    }
}

bool is_stopped(unsigned i) {
    return i % kKinds == 6;
}

}  // namespace

ZDTM("a tree of many children with threads, signals, filters, users, locks and stops") {
    zdtm::write_file("locked", "some text that is longer than the number of processes is");
    std::vector<pid_t> children;
    for (unsigned i = 0; i < kKinds * kOfEachKind; ++i) {
        children.push_back(me.start_child([i](zdtm::Task& task) { live(task, i); }));
        if (is_stopped(i)) {
            int status = 0;
            SYS(kill(children[i], SIGSTOP));
            SYS(waitpid(children[i], &status, WUNTRACED));
            CHECK(WIFSTOPPED(status), "status 0x%x", status);
        }
    }
    const int file = SYS(open("locked", O_RDWR));
    me.wait_for_check();

    for (unsigned i = 0; i < children.size(); ++i) {
        struct flock range {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1, .l_pid = 0
        };
        SYS(fcntl(file, F_GETLK, &range));
        const pid_t holder = range.l_type == F_UNLCK ? 0 : range.l_pid;
        CHECK(holder == (i % kKinds == 5 ? children[i] : 0), "child %u: locked by %d", i, holder);
        if (is_stopped(i)) {
            const std::string path = "/proc/" + std::to_string(children[i]) + "/status";
            CHECK(zdtm::status_field(path, "State")[0] == 'T', "child %u runs", i);
            SYS(kill(children[i], SIGCONT));
        }
        me.finish(children[i]);
    }
}
