// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed
// zdtm: fails-with-4.2 a thread as owner of a descriptor
#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>

#include "patience.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {

const int kSignal = SIGRTMIN + 3;

f_owner_ex owner_of(int fd) {
    f_owner_ex now{};
    SYS(fcntl(fd, F_GETOWN_EX, &now));
    return now;
}

/// A pipe end with O_ASYNC whose owner is a thread.
struct Owned {
    int ends[2];

    explicit Owned(pid_t thread) {
        SYS(pipe2(ends, O_NONBLOCK));
        const f_owner_ex owner{F_OWNER_TID, thread};
        SYS(fcntl(ends[0], F_SETOWN_EX, &owner));
        SYS(fcntl(ends[0], F_SETSIG, kSignal));
        SYS(fcntl(ends[0], F_SETFL, O_NONBLOCK | O_ASYNC));
    }

    void require(pid_t thread) const {
        const f_owner_ex owner = owner_of(ends[0]);
        CHECK(owner.type == F_OWNER_TID && owner.pid == thread, "owner %d of type %d instead of thread %d", owner.pid,
              static_cast<int>(owner.type), thread);
        CHECK(fcntl(ends[0], F_GETSIG) == kSignal, "signal %d", fcntl(ends[0], F_GETSIG));
    }
};

}  // namespace

ZDTM("descriptors whose F_OWNER_TID is a thread other than the main one, of this process and of another") {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, kSignal);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    std::atomic<pid_t> ids[2] = {};
    std::atomic<int> told = 0;
    zdtm::Threads threads(
        2, [&](unsigned index) { ids[index] = static_cast<pid_t>(syscall(SYS_gettid)); },
        [&](unsigned index) {
            if (index == 1) {
                siginfo_t info{};
                const timespec limit{zdtm::kPatience / 1000, 0};
                CHECK(sigtimedwait(&set, &info, &limit) == kSignal, "no signal: %s", strerror(errno));
                told = info.si_code;
            }
        });
    const Owned own(ids[1]);
    // A child opens the pipe, so the owner is a thread of another process.
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const Owned of_parent(ids[0]);
        task.wait_for_check();
        of_parent.require(ids[0]);
    });
    me.wait_for_check();

    own.require(ids[1]);
    me.finish(child);  // the threads are alive here
    CHECK(write(own.ends[1], "x", 1) == 1, "%s", strerror(errno));
    threads.finish();
    CHECK(told == POLL_IN, "told of %d", told.load());
}
