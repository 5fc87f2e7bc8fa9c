// SPDX-License-Identifier: GPL-2.0-only
#include "blocking_calls.hpp"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <ctime>
#include <vector>

#include "patience.hpp"
#include "zdtm.hpp"

namespace zdtm {
namespace {

constexpr long kLong = 1000;  // seconds; longer than any test

timespec long_time() {
    return {kLong, 0};
}

template <typename T>
T* shared() {
    return reinterpret_cast<T*>(map(page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
}

int empty_pipe() {
    int ends[2];
    SYS(pipe(ends));
    return ends[0];
}

int full_pipe() {
    int ends[2];
    SYS(pipe(ends));
    SYS(fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(page_size())));
    const std::vector<char> block(static_cast<std::size_t>(SYS(fcntl(ends[1], F_GETPIPE_SZ))));
    SYS(write(ends[1], block.data(), block.size()));
    return ends[1];
}

sockaddr_in loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void limit_time(int socket, int option) {
    const timeval limit{kLong, 0};
    SYS(setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit)));
}

int udp_socket(bool limited) {
    const int fd = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    const sockaddr_in address = loopback();
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    if (limited)
        limit_time(fd, SO_RCVTIMEO);
    return fd;
}

int listener(bool limited) {
    const int fd = SYS(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = loopback();
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    SYS(listen(fd, 1));
    if (limited)
        limit_time(fd, SO_RCVTIMEO);
    return fd;
}

int unix_socket(bool limited) {
    int ends[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    if (limited)
        limit_time(ends[0], SO_RCVTIMEO);
    return ends[0];
}

int full_unix_socket() {
    int ends[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    const std::vector<char> block(4096);
    while (send(ends[0], block.data(), block.size(), MSG_DONTWAIT) > 0) {
    }
    limit_time(ends[0], SO_SNDTIMEO);
    return ends[0];
}

int silent_epoll() {
    const int fd = SYS(epoll_create1(0));
    epoll_event event{};
    event.events = EPOLLIN;
    SYS(epoll_ctl(fd, EPOLL_CTL_ADD, empty_pipe(), &event));
    return fd;
}

sigset_t set_of(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

// Returns a read-only time: the kernel can't write the remaining time back.
const timespec* constant_time() {
    auto* const time = shared<timespec>();
    *time = long_time();
    SYS(mprotect(time, page_size(), PROT_READ));
    return time;
}

}  // namespace

void BlockingCalls::add(const char* name, long number, std::function<long()> make) {
    Call& call = calls_.emplace_back();
    call.name = name;
    call.number = number;
    call.make = std::move(make);
}

void BlockingCalls::add_files() {
    add("read of a pipe", SYS_read, [fd = empty_pipe()] {
        char byte = 0;
        return read(fd, &byte, 1);
    });
    add("write to a pipe", SYS_write, [fd = full_pipe()] { return write(fd, "x", 1); });
    add("read of an eventfd", SYS_read, [fd = SYS(eventfd(0, 0))] {
        std::uint64_t value = 0;
        return read(fd, &value, sizeof(value));
    });
    add("read of a timerfd", SYS_read, [fd = SYS(timerfd_create(CLOCK_MONOTONIC, 0))] {
        std::uint64_t value = 0;
        return read(fd, &value, sizeof(value));
    });
    const sigset_t signals = set_of(SIGUSR2);
    add("read of a signalfd", SYS_read, [fd = SYS(signalfd(-1, &signals, 0))] {
        signalfd_siginfo info{};
        return read(fd, &info, sizeof(info));
    });
    add("read of inotify", SYS_read, [fd = SYS(inotify_init())] {
        char events[4096];
        return read(fd, events, sizeof(events));
    });
    add("splice", SYS_splice,
        [from = empty_pipe(), to = full_pipe()] { return syscall(SYS_splice, from, nullptr, to, nullptr, 1, 0); });
    add("vmsplice", SYS_vmsplice, [fd = full_pipe()] {
        static char byte = 0;
        const iovec part{&byte, 1};
        return syscall(SYS_vmsplice, fd, &part, 1, 0);
    });
    SYS(mkfifo("fifo", 0600));
    add("open of a fifo", SYS_openat, [] { return syscall(SYS_openat, AT_FDCWD, "fifo", O_RDONLY, 0); });
    const int lock = SYS(open("lock", O_RDWR | O_CREAT, 0600));
    SYS(flock(lock, LOCK_EX));
    add("flock", SYS_flock, [fd = SYS(open("lock", O_RDWR))] { return flock(fd, LOCK_EX); });
    struct flock all {};
    all.l_type = F_WRLCK;
    SYS(fcntl(lock, F_OFD_SETLK, &all));
    add("F_OFD_SETLKW", SYS_fcntl,
        [fd = SYS(open("lock", O_RDWR)), all] { return syscall(SYS_fcntl, fd, F_OFD_SETLKW, &all); });
}

void BlockingCalls::add_sockets() {
    for (const bool limited : {false, true}) {
        const char* const kind = limited ? " with a time limit" : "";
        const auto named = [&](const char* name) { return std::string(name) + kind; };
        add(named("recvfrom").c_str(), SYS_recvfrom, [fd = udp_socket(limited)] {
            char byte = 0;
            return recv(fd, &byte, 1, 0);
        });
        add(named("recvmsg").c_str(), SYS_recvmsg, [fd = udp_socket(limited)] {
            msghdr message{};
            return recvmsg(fd, &message, 0);
        });
        add(named("recvmmsg").c_str(), SYS_recvmmsg, [fd = udp_socket(limited)] {
            mmsghdr message{};
            return syscall(SYS_recvmmsg, fd, &message, 1, 0, nullptr);
        });
        add(named("read of a socket").c_str(), SYS_read, [fd = unix_socket(limited)] {
            char byte = 0;
            return read(fd, &byte, 1);
        });
        add(named("readv of a socket").c_str(), SYS_readv, [fd = unix_socket(limited)] {
            char byte = 0;
            const iovec part{&byte, 1};
            return readv(fd, &part, 1);
        });
        add(named("accept").c_str(), SYS_accept,
            [fd = listener(limited)] { return syscall(SYS_accept, fd, nullptr, nullptr); });
        add(named("accept4").c_str(), SYS_accept4,
            [fd = listener(limited)] { return accept4(fd, nullptr, nullptr, 0); });
    }
}

void BlockingCalls::add_sends() {
    add("sendto with a time limit", SYS_sendto, [fd = full_unix_socket()] { return send(fd, "x", 1, 0); });
    add("sendmsg with a time limit", SYS_sendmsg, [fd = full_unix_socket()] {
        char byte = 0;
        iovec part{&byte, 1};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        return sendmsg(fd, &message, 0);
    });
    add("write to a socket with a time limit", SYS_write, [fd = full_unix_socket()] { return write(fd, "x", 1); });
}

void BlockingCalls::add_old_waits() {
    // Processors that Linux got later than 2012 have only the newer forms of these calls (asm-generic/unistd.h).
#ifdef SYS_epoll_wait
    add("epoll_wait", SYS_epoll_wait, [fd = silent_epoll()] {
        epoll_event event{};
        return syscall(SYS_epoll_wait, fd, &event, 1, -1);
    });
    add("epoll_wait with a time limit", SYS_epoll_wait, [fd = silent_epoll()] {
        epoll_event event{};
        return syscall(SYS_epoll_wait, fd, &event, 1, static_cast<int>(kLong * 1000));
    });
    add("poll", SYS_poll, [fd = empty_pipe()] {
        pollfd ask{fd, POLLIN, 0};
        return syscall(SYS_poll, &ask, 1, -1);
    });
    add("poll with a time limit", SYS_poll, [fd = empty_pipe()] {
        pollfd ask{fd, POLLIN, 0};
        return syscall(SYS_poll, &ask, 1, static_cast<int>(kLong * 1000));
    });
    add("select", SYS_select, [] {
        timeval limit{kLong, 0};
        return syscall(SYS_select, 0, nullptr, nullptr, nullptr, &limit);
    });
    add("pause", SYS_pause, [] { return syscall(SYS_pause); });
#endif
}

void BlockingCalls::add_waits() {
    add("epoll_pwait", SYS_epoll_pwait, [fd = silent_epoll()] {
        epoll_event event{};
        sigset_t all;
        sigfillset(&all);
        return syscall(SYS_epoll_pwait, fd, &event, 1, -1, &all, std::size_t{8});
    });
    add("ppoll", SYS_ppoll, [fd = empty_pipe()] {
        pollfd ask{fd, POLLIN, 0};
        timespec limit = long_time();
        return syscall(SYS_ppoll, &ask, 1, &limit, nullptr, std::size_t{8});
    });
    add("ppoll with a constant time limit", SYS_ppoll, [fd = empty_pipe(), limit = constant_time()] {
        pollfd ask{fd, POLLIN, 0};
        return syscall(SYS_ppoll, &ask, 1, limit, nullptr, std::size_t{8});
    });
    add("pselect6 with a constant time limit", SYS_pselect6,
        [limit = constant_time()] { return syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, limit, nullptr); });
    add("nanosleep", SYS_nanosleep, [] {
        const timespec time = long_time();
        return syscall(SYS_nanosleep, &time, nullptr);
    });
    add("clock_nanosleep", SYS_clock_nanosleep, [] {
        const timespec time = long_time();
        return syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &time, nullptr);
    });
    add("clock_nanosleep until a time", SYS_clock_nanosleep, [] {
        timespec time{};
        SYS(clock_gettime(CLOCK_REALTIME, &time));
        time.tv_sec += kLong;
        return syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &time, nullptr);
    });
    add("futex", SYS_futex, [word = shared<int>()] { return syscall(SYS_futex, word, FUTEX_WAIT, 0, nullptr, 0, 0); });
    add("futex with a time limit", SYS_futex, [word = shared<int>()] {
        const timespec limit = long_time();
        return syscall(SYS_futex, word, FUTEX_WAIT, 0, &limit, 0, 0);
    });
    add("FUTEX_WAIT_BITSET with a time limit", SYS_futex, [word = shared<int>()] {
        timespec limit{};
        SYS(clock_gettime(CLOCK_MONOTONIC, &limit));
        limit.tv_sec += kLong;
        return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &limit, 0, 1);
    });
    add("rt_sigtimedwait", SYS_rt_sigtimedwait, [] {
        const sigset_t set = set_of(SIGUSR1);
        return syscall(SYS_rt_sigtimedwait, &set, nullptr, nullptr, std::size_t{8});
    });
    add("rt_sigtimedwait with a time limit", SYS_rt_sigtimedwait, [] {
        const sigset_t set = set_of(SIGUSR1);
        const timespec limit = long_time();
        return syscall(SYS_rt_sigtimedwait, &set, nullptr, &limit, std::size_t{8});
    });
    add("rt_sigsuspend", SYS_rt_sigsuspend, [] {
        sigset_t all;
        sigfillset(&all);
        return syscall(SYS_rt_sigsuspend, &all, std::size_t{8});
    });
    add("io_getevents", SYS_io_getevents, [] {
        aio_context_t context = 0;
        SYS(syscall(SYS_io_setup, 1, &context));
        io_event event{};
        timespec limit = long_time();
        return syscall(SYS_io_getevents, context, 1, 1, &event, &limit);
    });
}

void BlockingCalls::add_ipc() {
    SYS(unshare(CLONE_NEWIPC));  // objects of this namespace end with the test, and a restore creates them
    const int semaphore = SYS(semget(IPC_PRIVATE, 1, 0600));
    const int queue = SYS(msgget(IPC_PRIVATE, 0600));
    add("semop", SYS_semop, [semaphore] {
        sembuf take{0, -1, 0};
        return syscall(SYS_semop, semaphore, &take, 1);
    });
    add("semtimedop", SYS_semtimedop, [semaphore] {
        sembuf take{0, -1, 0};
        const timespec limit = long_time();
        return syscall(SYS_semtimedop, semaphore, &take, 1, &limit);
    });
    add("msgrcv", SYS_msgrcv, [queue] {
        msgbuf message{};
        return syscall(SYS_msgrcv, queue, &message, 1, 0, 0);
    });
}

bool BlockingCalls::is_blocked(const Call& call) {
    const std::string task = "/proc/self/task/" + std::to_string(call.thread);
    // The kernel continues an interrupted call as restart_syscall(2).
    const std::string in = read_file(task + "/syscall");
    const std::string number = in.substr(0, in.find(' '));
    return number == std::to_string(call.number) || number == std::to_string(SYS_restart_syscall);
}

void* BlockingCalls::run(void* argument) {
    auto& call = *static_cast<Call*>(argument);
    call.thread = gettid();
    errno = 0;
    const long result = call.make();
    call.error = errno;
    call.result = result;
    call.returned = true;
    return nullptr;
}

void BlockingCalls::start() {
    for (Call& call : calls_) {
        pthread_t thread{};
        const int code = pthread_create(&thread, nullptr, run, &call);
        CHECK(code == 0, "%s: %s", call.name.c_str(), strerror(code));
    }
}

BlockingCalls::BlockingCalls(Kind kind) {
    sigset_t blocked = set_of(SIGUSR1);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGTERM);
    SYS(sigprocmask(SIG_BLOCK, &blocked, nullptr));
    if (kind == Kind::Sends) {
        add_sends();
    } else {
        add_files();
        add_sockets();
        add_waits();
        add_ipc();
    }
    start();
    check_blocked();
}

void BlockingCalls::check_blocked() {
    for (const Call& call : calls_) {
        for (int tries = 0; !call.returned && (call.thread == 0 || !is_blocked(call)); ++tries) {
            CHECK(tries < kPatience, "%s isn't made", call.name.c_str());
            usleep(1000);
        }
        CHECK(!call.returned, "%s has returned %ld: %s", call.name.c_str(), call.result, strerror(call.error));
    }
}

}  // namespace zdtm
