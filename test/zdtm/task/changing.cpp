// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes compare-planted
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "zdtm.hpp"

namespace {

struct State {
    std::span<std::byte> memory = zdtm::map(std::size_t{64} << 10);
    std::span<std::byte> shared = zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    int file = SYS(open("file", O_RDWR | O_CREAT, 0600));
    int closed = SYS(open("/dev/null", O_RDONLY));
    int pipe[2] = {-1, -1};
    int sockets[2] = {-1, -1};
    int event = SYS(eventfd(3, 0));
    pid_t child = -1;
};

void* sleep_for_ever(void*) {
    for (;;) {
        pause();
    }
}

// Makes change number `which`. test/zdtm/comparing.py has the same numbers.
void change(State& state, int which) {
    switch (which) {
        case 0:
            state.memory[5000] = std::byte{0xa5};
            break;
        case 1: {
            const rlimit limit{77, 99};
            SYS(setrlimit(RLIMIT_CORE, &limit));
            break;
        }
        case 2:
            SYS(lseek(state.file, 5, SEEK_SET));
            break;
        case 3:
            SYS(dup2(state.file, 40));
            break;
        case 4:
            SYS(close(state.closed));
            break;
        case 5: {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGUSR2);
            SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
            break;
        }
        case 6:
            SYS(fcntl(state.pipe[0], F_SETFL, O_NONBLOCK));
            break;
        case 7:
            SYS(write(state.pipe[1], "!", 1));
            break;
        case 8:
            SYS(send(state.sockets[0], "?", 1, 0));
            break;
        case 9:
            umask(0123);
            break;
        case 10:
            signal(SIGUSR1, SIG_IGN);
            break;
        case 11:
            SYS(mprotect(state.memory.data(), 4096, PROT_READ));
            break;
        case 12:
            state.child = SYS(fork());
            if (state.child == 0) {
                sleep_for_ever(nullptr);
            }
            break;
        case 13:
            SYS(eventfd_write(state.event, 4));
            break;
        case 14:
            state.shared[17] = std::byte{0x5a};
            break;
        case 15: {
            pthread_t thread{};
            CHECK(pthread_create(&thread, nullptr, sleep_for_ever, nullptr) == 0, "no thread");
            break;
        }
        case 16:
            SYS(chdir("/"));
            break;
        case 17: {
            const gid_t group = 7;
            SYS(setgroups(1, &group));
            break;
        }
        case 18:
            SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
            break;
        case 19:
            SYS(ftruncate(state.file, 100));
            break;
        default:
            CHECK(false, "unknown change %d", which);
    }
}

}  // namespace

ZDTM("criu compare tells each change that a restored process has made since its dump") {
    State state;
    SYS(write(state.file, "some text", 9));
    SYS(lseek(state.file, 3, SEEK_SET));
    SYS(pipe(state.pipe));
    SYS(write(state.pipe[1], "piped", 5));
    SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, state.sockets));
    state.memory[1] = state.shared[1] = std::byte{1};
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    sigset_t requests;
    sigemptyset(&requests);
    sigaddset(&requests, SIGTERM);
    for (int i = SIGRTMIN; i <= SIGRTMAX; ++i) {
        sigaddset(&requests, i);
    }
    SYS(sigprocmask(SIG_BLOCK, &requests, nullptr));
    me.ready();

    int got = 0;
    while (got != SIGTERM) {
        got = sigwaitinfo(&requests, nullptr);
        if (got >= SIGRTMIN) {
            change(state, got - SIGRTMIN);
        }
    }
    if (state.child > 0) {
        zdtm::kill_and_reap(state.child);
    }
    me.finish(child);
}
