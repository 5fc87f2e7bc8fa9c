// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also compare,restore-killed
// zdtm: fails-with-4.2 it takes the process for a zombie
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>

#include "ended_leader.hpp"
#include "threads.hpp"

namespace {

constexpr int kStatus = 7;

std::string comm_of(pid_t tid) {
    return zdtm::read_file("/proc/" + std::to_string(getpid()) + "/task/" + std::to_string(tid) + "/comm");
}

// Returns the last field of the main thread's stat.
std::string exit_code() {
    const std::string pid = std::to_string(getpid());
    std::string text = zdtm::read_file("/proc/" + pid + "/task/" + pid + "/stat");
    text = text.substr(0, text.find('\n'));
    return text.substr(text.rfind(' ') + 1);
}

// State of the process whose main thread has ended.
void live(zdtm::Task& task) {
    zdtm::await_main_end();
    prctl(PR_SET_NAME, "survivor");
    const pid_t tid = gettid();
    SYS(mkdir("folder", 0755));
    SYS(chdir("folder"));
    const int file = SYS(open("file", O_RDWR | O_CREAT, 0600));
    SYS(write(file, "0123456789", 10));
    SYS(lseek(file, 4, SEEK_SET));
    const int shared = SYS(memfd_create("shared", 0));
    SYS(ftruncate(shared, 8192));
    const auto memory = zdtm::map(8192, PROT_READ | PROT_WRITE, MAP_SHARED, shared);
    zdtm::fill(memory, 3);
    const auto heap = zdtm::map(1 << 20);
    zdtm::fill(heap, 5);
    int ends[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    SYS(write(ends[0], "abc", 3));
    const int listener = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un name{AF_UNIX, "name"};
    SYS(bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
    SYS(listen(listener, 1));
    const int event = SYS(eventfd(1, 0));
    const int poll = SYS(epoll_create1(0));
    epoll_event wanted{EPOLLIN, {.u64 = 77}};
    SYS(epoll_ctl(poll, EPOLL_CTL_ADD, event, &wanted));
    itimerspec pause{{0, 0}, {3600, 0}};
    timer_t timer{};
    sigevent none{};
    none.sigev_notify = SIGEV_NONE;
    SYS(timer_create(CLOCK_MONOTONIC, &none, &timer));
    SYS(timer_settime(timer, 0, &pause, nullptr));
    zdtm::Threads more(
        3, [](unsigned) {}, [](unsigned) {});
    // The death signal is that of the end of the thread, not of the main thread.
    const pid_t child = task.start_child([](zdtm::Task& grandchild) {
        SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
        grandchild.wait_for_check();
    });
    SYS(kill(getpid(), SIGUSR2));  // waits for the process, and for no thread
    task.wait_for_check();

    CHECK(zdtm::main_status("State").front() == 'Z', "the main thread's state is %s",
          zdtm::main_status("State").c_str());
    CHECK(zdtm::main_status("Threads") == "5", "it has %s threads", zdtm::main_status("Threads").c_str());
    CHECK(gettid() == tid, "tid was %d, is %d", tid, gettid());
    CHECK(comm_of(tid) == "survivor\n", "the thread's name is %s", comm_of(tid).c_str());
    CHECK(comm_of(getpid()) == "main\n", "the main thread's name is %s", comm_of(getpid()).c_str());
    CHECK(lseek(file, 0, SEEK_CUR) == 4, "the position is %jd", static_cast<intmax_t>(lseek(file, 0, SEEK_CUR)));
    CHECK(access("file", F_OK) == 0 && access("../folder", F_OK) == 0, "the working directory is another");
    CHECK(zdtm::first_difference(memory, 3) == -1, "shared memory differs");
    CHECK(zdtm::first_difference(heap, 5) == -1, "memory differs");
    char text[4]{};
    CHECK(read(ends[1], text, 3) == 3 && std::string(text) == "abc", "the socket has %s", text);
    const int client = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    SYS(connect(client, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
    epoll_event got{};
    CHECK(epoll_wait(poll, &got, 1, 0) == 1 && got.data.u64 == 77, "epoll reports nothing");
    SYS(timer_gettime(timer, &pause));
    CHECK(pause.it_value.tv_sec > 3000, "the timer has %jd s left", static_cast<intmax_t>(pause.it_value.tv_sec));
    sigset_t pending;
    SYS(sigpending(&pending));
    CHECK(sigismember(&pending, SIGUSR2) == 1, "SIGUSR2 isn't pending");
    more.finish();
    task.finish(child);
    CHECK(exit_code() == std::to_string(kStatus << 8), "the main thread's exit code is %s", exit_code().c_str());
    // Ends only this thread, which is the last one.
    syscall(SYS_exit, 0);
}

}  // namespace

ZDTM("a process whose main thread has ended is dumped and restored by its other threads") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR2);
        sigprocmask(SIG_BLOCK, &blocked, nullptr);
        prctl(PR_SET_NAME, "main");
        zdtm::end_main_thread(kStatus, [&task] { live(task); });
    });
    me.wait_for_check();
    SYS(kill(child, SIGTERM));
    const int status = zdtm::wait_status(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ended with %#x", status);
}
