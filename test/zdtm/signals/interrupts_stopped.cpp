// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores stopped threads with other signal masks
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>

#include "patience.hpp"
#include "zdtm.hpp"

namespace {

struct Shared {
    std::atomic<int> handled;
    std::atomic<int> result;  // an errno, or kBlocked
};

constexpr int kBlocked = -1;

// A child that is stopped while it blocks in a call. A signal with a handler is pending for it.
struct Sleeper {
    Shared* shared =
        reinterpret_cast<Shared*>(zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    pid_t pid = 0;
    long number = 0;
    int input = -1;

    template <typename Call>
    Sleeper(zdtm::Task& me, long call_number, int flags, Call call) : number(call_number) {
        int ends[2];
        SYS(pipe(ends));
        input = ends[1];
        shared->result = kBlocked;
        pid = me.start_child([&](zdtm::Task& task) {
            static Shared* own;
            own = shared;
            struct sigaction action {};
            action.sa_handler = [](int) { ++own->handled; };
            action.sa_flags = flags;
            SYS(sigaction(SIGUSR1, &action, nullptr));
            task.ready();
            errno = 0;
            call(ends[0]);
            shared->result = errno;
            task.wait_trigger();
        });
        await_call();
        SYS(kill(pid, SIGSTOP));
        int status = 0;
        SYS(waitpid(pid, &status, WUNTRACED));
        SYS(kill(pid, SIGUSR1));
    }

    void await_call() const {
        const std::string wanted = std::to_string(number) + " ";
        for (int tries = 0; zdtm::read_file("/proc/" + std::to_string(pid) + "/syscall").rfind(wanted, 0) != 0 &&
                            shared->result == kBlocked;
             ++tries) {
            CHECK(tries < zdtm::kPatience, "the call isn't made");
            usleep(1000);
        }
    }

    // Continues the child. Returns the errno of its call, or kBlocked.
    int outcome() const {
        SYS(kill(pid, SIGCONT));
        for (int tries = 0; shared->handled == 0; ++tries) {
            CHECK(tries < zdtm::kPatience, "the signal isn't handled");
            usleep(1000);
        }
        await_call();
        return shared->result;
    }
};

}  // namespace

ZDTM(
    "a signal that is pending for a stopped process ends its blocked call or restarts it, by SA_RESTART and the call") {
    const auto read_byte = [](int fd) {
        char byte = 0;
        (void)read(fd, &byte, 1);
    };
    const auto wait_for_event = [](int fd) {
        const int epoll = SYS(epoll_create1(0));
        epoll_event event{};
        event.events = EPOLLIN;
        SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
        syscall(SYS_epoll_pwait, epoll, &event, 1, -1, nullptr, std::size_t{8});
    };
    const Sleeper ends(me, SYS_read, 0, read_byte);
    const Sleeper restarts(me, SYS_read, SA_RESTART, read_byte);
    const Sleeper waits(me, SYS_epoll_pwait, SA_RESTART, wait_for_event);
    me.wait_for_check();

    const int of_read = ends.outcome();
    // criu asks for SA_RESTART by a system call of the stopped process. If criu is killed in this call, the read(2)
    // starts again, because rt_sigreturn(2) takes the decision from the kernel (status.md).
    const bool restarted_by_kill = getenv("ZDTM_KILLED") != nullptr && of_read == kBlocked;
    CHECK(of_read == EINTR || restarted_by_kill, "read(2): %d", of_read);
    if (restarted_by_kill) {
        SYS(write(ends.input, "x", 1));
    }
    const int of_epoll = waits.outcome();
    CHECK(of_epoll == EINTR, "epoll_pwait(2): %d", of_epoll);
    const int restarted = restarts.outcome();
    CHECK(restarted == kBlocked, "read(2) with SA_RESTART: %d", restarted);
    SYS(write(restarts.input, "x", 1));
    for (const pid_t child : {ends.pid, restarts.pid, waits.pid}) {
        me.finish(child);
    }
    CHECK(restarts.shared->result == 0, "read(2) with SA_RESTART: %d", restarts.shared->result.load());
}
