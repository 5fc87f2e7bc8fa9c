// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one pid namespace only
#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "nested_pids.hpp"
#include "thread_timers.hpp"

namespace {

pid_t thread_id() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

// Holds everything that has an id: a process group, a session, an orphan, a zombie, threads.
void live_as_first(zdtm::Task& task) {
    CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    const zdtm::Descendants descendants(task);

    // The owner of a descriptor, a timer's thread and the sender of a pending signal have ids of this namespace.
    int ends[2];
    SYS(pipe2(ends, O_CLOEXEC));
    SYS(fcntl(ends[0], F_SETOWN, descendants.leader()));
    sigset_t waiting;
    sigemptyset(&waiting);
    sigaddset(&waiting, SIGUSR1);
    sigaddset(&waiting, SIGUSR2);
    SYS(sigprocmask(SIG_BLOCK, &waiting, nullptr));
    SYS(kill(getpid(), SIGUSR1));

    std::atomic<pid_t> seen = 0;
    std::atomic<bool> stop = false;
    std::thread other([&] {
        seen = thread_id();
        while (!stop)
            usleep(1000);
        CHECK(seen == thread_id(), "thread %d was %d", thread_id(), seen.load());
        CHECK(sigwaitinfo(&waiting, nullptr) > 0, "%s", strerror(errno));
    });
    while (seen == 0)
        usleep(1000);
    const timer_t timer = zdtm::timer_for(seen, SIGUSR2);

    task.wait_for_check();

    CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    CHECK(fcntl(ends[0], F_GETOWN) == descendants.leader(), "owner %d", fcntl(ends[0], F_GETOWN));
    siginfo_t got{};
    sigset_t first;
    sigemptyset(&first);
    sigaddset(&first, SIGUSR1);
    SYS(sigwaitinfo(&first, &got));
    CHECK(got.si_pid == 1, "a signal of process %d", got.si_pid);
    zdtm::let_go_off(timer);
    stop = true;
    other.join();  // the thread takes the timer's signal
    descendants.finish(task);
}

}  // namespace

ZDTM("nested pid namespaces, two levels deep: processes keep their pids in all of them") {
    const pid_t plain = zdtm::start_first(me, live_as_first);
    const pid_t outer = zdtm::start_first(me, [](zdtm::Task& task) {
        SYS(setsid());
        CHECK(getpid() == 1, "pid %d", getpid());
        const pid_t worker = task.start_child([](zdtm::Task& below) {
            const pid_t own = getpid();
            below.wait_for_check();
            CHECK(getpid() == own && getppid() == 1 && getsid(0) == 1 && getpgid(0) == 1,
                  "pid %d, parent %d, session %d, group %d", getpid(), getppid(), getsid(0), getpgid(0));
        });
        const pid_t inner = zdtm::start_first(task, live_as_first);
        task.wait_for_check();
        CHECK(getpid() == 1 && getppid() == 0 && getsid(0) == 1, "pid %d, child of %d, session %d", getpid(), getppid(),
              getsid(0));
        task.finish(inner);
        task.finish(worker);
    });
    const pid_t later = SYS(fork());
    if (later == 0)
        for (;;)
            pause();

    me.wait_for_check();

    me.finish(plain);
    me.finish(outer);
    zdtm::kill_and_reap(later);
    const pid_t fresh = SYS(fork());
    if (fresh == 0)
        _exit(getppid() > 1 ? 0 : 1);
    CHECK(zdtm::wait_status(fresh) == 0, "a new child isn't in the namespace of its parent");
}
