// SPDX-License-Identifier: GPL-2.0-only
// Process tree of a given size for dumps: workload [WHAT=COUNT]...
//   memory=MIB     private memory of each process (default: 1)
//   text=1         memory contains words instead of numbers, for compression
//   processes=N    number of processes (default: 1)
//   shared=N       open file descriptions that all processes share: half files, half pipes
//   threads=N, pipes=N, connections=N, mixed=N
//                  of the root: threads, pipes, TCP connections with itself, descriptors of many kinds
//   tmpfs=MIB      in 64 files of a tmpfs, which all processes have in a private mount namespace
// The program prints READY and sleeps. SIGUSR1: it checks all its memory. SIGUSR2: it writes to one page in a hundred
// and prints CHANGED. SIGRTMIN: it checks one word and prints HERE. SIGTERM: it ends with status 0 if nothing has
// changed.
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

[[noreturn]] void die(const char* what) {
    perror(what);
    _exit(1);
}

std::uint64_t word(std::size_t index, std::uint64_t seed) {
    return (index + 1) * 0x9e3779b97f4a7c15ULL ^ seed;
}

// Returns eight letters: one of 64 words, in an order that doesn't repeat.
std::uint64_t letters(std::size_t index, std::uint64_t seed) {
    std::uint64_t text = word(word(index, seed) >> 58, 1);
    for (unsigned byte = 0; byte < 8; ++byte) {
        const unsigned shift = 8 * byte;
        const std::uint64_t letter = 'a' + ((text >> shift) & 0xff) % 26;
        text = (text & ~(0xffULL << shift)) | letter << shift;
    }
    return text;
}

class Memory {
public:
    Memory(std::size_t bytes, std::uint64_t seed, bool text) : seed_(seed), content_(text ? letters : word) {
        void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) {
            die("mmap");
        }
        words_ = {static_cast<std::uint64_t*>(map), bytes / sizeof(std::uint64_t)};
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i] = content_(i, seed_);
        }
    }

    [[nodiscard]] bool intact() const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (words_[i] != content_(i, seed_)) {
                return false;
            }
        }
        return true;
    }

    // Checks one word in the middle.
    [[nodiscard]] bool answers() const {
        const std::size_t middle = words_.size() / 2;
        return words_[middle] == content_(middle, seed_);
    }

    // Writes the present content to one page in a hundred. The kernel counts such a page as written.
    void change() {
        constexpr std::size_t apart = 100 * 4096 / sizeof(std::uint64_t);
        for (std::size_t i = 0; i < words_.size(); i += apart) {
            const_cast<volatile std::uint64_t&>(words_[i]) = content_(i, seed_);
        }
    }

private:
    std::uint64_t seed_;
    std::uint64_t (*content_)(std::size_t index, std::uint64_t seed);
    std::span<std::uint64_t> words_;
};

void* sleep_forever(void*) {
    for (;;) {
        pause();
    }
}

void start_threads(int count) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (int i = 0; i < count; ++i) {
        pthread_t thread{};
        if (pthread_create(&thread, &attributes, sleep_forever, nullptr) != 0) {
            die("pthread_create");
        }
    }
}

using Pipe = std::array<int, 2>;

void allow_many_files() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void require(bool good, const char* what) {
    if (!good) {
        die(what);
    }
}

std::vector<Pipe> open_pipes(unsigned count) {
    std::vector<Pipe> pipes(count);
    for (unsigned i = 0; i < count; ++i) {
        if (pipe(pipes[i].data()) != 0 || write(pipes[i][1], &i, sizeof i) != sizeof i) {
            die("pipe");
        }
    }
    return pipes;
}

bool hold_their_numbers(const std::vector<Pipe>& pipes) {
    for (unsigned i = 0; i < pipes.size(); ++i) {
        unsigned got = 0;
        if (read(pipes[i][0], &got, sizeof got) != sizeof got || got != i) {
            return false;
        }
    }
    return true;
}

// Opens TCP connections over the loopback device, both ends in this process, with a number in transit in each
// direction.
std::vector<Pipe> open_connections(unsigned count) {
    if (count == 0) {
        return {};
    }
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    require(bind(listener, any, length) == 0 && listen(listener, 128) == 0, "listen");
    require(getsockname(listener, any, &length) == 0, "getsockname");
    std::vector<Pipe> connections(count);
    for (unsigned i = 0; i < count; ++i) {
        const int one = socket(AF_INET, SOCK_STREAM, 0);
        require(connect(one, any, length) == 0, "connect");
        const int other = accept(listener, nullptr, nullptr);
        require(other >= 0, "accept");
        require(write(one, &i, sizeof i) == sizeof i && write(other, &i, sizeof i) == sizeof i, "write");
        connections[i] = {one, other};
    }
    return connections;
}

bool hold_their_numbers_both_ways(const std::vector<Pipe>& connections) {
    for (unsigned i = 0; i < connections.size(); ++i) {
        for (const int end : connections[i]) {
            unsigned got = 0;
            if (recv(end, &got, sizeof got, MSG_WAITALL) != sizeof got || got != i) {
                return false;
            }
        }
        const Pipe& ends = connections[i];
        char byte = 'x';
        if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1) {
            return false;
        }
    }
    return true;
}

// Descriptors of many kinds, ten for each round.
class Mixture {
public:
    explicit Mixture(unsigned count) {
        while (fds_.size() < count) {
            add();
        }
    }

    [[nodiscard]] bool intact() const {
        for (std::size_t at = 0; at < fds_.size(); at += kRound) {
            const int* const fds = &fds_[at];
            const auto round = static_cast<std::uint64_t>(at);
            std::uint64_t value = 0;
            if (lseek(fds[0], 0, SEEK_CUR) != static_cast<off_t>(at) || read(fds[1], &value, 8) != 8 ||
                value != round || read(fds[3], &value, 8) != 8 || value != round + 1 || read(fds[4], &value, 8) != 8 ||
                value != round) {
                return false;
            }
            itimerspec rest{};
            if (timerfd_gettime(fds[6], &rest) != 0 || rest.it_value.tv_sec == 0 || fcntl(fds[7], F_GETFD) < 0) {
                return false;
            }
            epoll_event event{};
            if (epoll_wait(fds[8], &event, 1, 0) != 1 || event.data.u64 != round) {
                return false;
            }
            sockaddr_in name{};
            socklen_t length = sizeof name;
            if (getsockname(fds[9], reinterpret_cast<sockaddr*>(&name), &length) != 0 || name.sin_family != AF_INET) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr std::size_t kRound = 10;

    void add() {
        const auto round = static_cast<std::uint64_t>(fds_.size());
        const int file = open("/proc/self/exe", O_RDONLY);
        lseek(file, static_cast<off_t>(round), SEEK_SET);
        Pipe ends{};
        require(pipe(ends.data()) == 0 && write(ends[1], &round, 8) == 8, "pipe");
        const int event = eventfd(0, EFD_NONBLOCK);
        const std::uint64_t value = round + 1;
        require(write(event, &value, 8) == 8, "eventfd");
        Pipe pair{};
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0 && write(pair[1], &round, 8) == 8, "socketpair");
        const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
        const itimerspec later{{0, 0}, {100000, 0}};
        require(timerfd_settime(timer, 0, &later, nullptr) == 0, "timerfd");
        const int null = open("/dev/null", O_RDWR);
        const int poll = epoll_create1(0);
        epoll_event wanted{};
        wanted.events = EPOLLOUT;
        wanted.data.u64 = round;
        require(epoll_ctl(poll, EPOLL_CTL_ADD, pair[0], &wanted) == 0, "epoll");
        const int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
        for (const int fd : {file, ends[0], ends[1], event, pair[0], pair[1], timer, null, poll, datagrams}) {
            require(fd >= 0, "a descriptor");
            fds_.push_back(fd);
        }
    }

    std::vector<int> fds_;
};

// Files in a tmpfs on /mnt. Mounts that may contain images are unmounted in the namespace, so that no dump contains
// itself.
class Files {
public:
    explicit Files(std::size_t bytes) : each_(bytes / kFiles / sizeof(std::uint64_t)) {
        if (each_ == 0) {
            return;
        }
        require(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    umount2("/dev/shm", MNT_DETACH) == 0 && mount("files", "/mnt", "tmpfs", 0, "size=100%") == 0,
                "a mount namespace");
        for (std::size_t file = 0; file < kFiles; ++file) {
            const std::vector<std::uint64_t> words = content(file);
            const int fd = open(name(file).c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
            require(write(fd, words.data(), size()) == static_cast<ssize_t>(size()), "a file");
            close(fd);
        }
    }

    [[nodiscard]] bool intact() const {
        for (std::size_t file = 0; each_ != 0 && file < kFiles; ++file) {
            std::vector<std::uint64_t> words(each_);
            const int fd = open(name(file).c_str(), O_RDONLY);
            const bool whole = read(fd, words.data(), size()) == static_cast<ssize_t>(size());
            close(fd);
            if (!whole || words != content(file)) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr std::size_t kFiles = 64;

    static std::string name(std::size_t file) { return "/mnt/" + std::to_string(file); }
    [[nodiscard]] std::size_t size() const { return each_ * sizeof(std::uint64_t); }
    [[nodiscard]] std::vector<std::uint64_t> content(std::size_t file) const {
        std::vector<std::uint64_t> words(each_);
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i] = word(i, file);
        }
        return words;
    }

    std::size_t each_;
};

void open_shared(unsigned count) {
    for (unsigned i = 0; i < count; i += 4) {
        Pipe ends{};
        require(pipe(ends.data()) == 0, "pipe");
        for (int file = 0; file < 2; ++file) {
            require(open("/proc/self/exe", O_RDONLY) >= 0, "open");
        }
    }
}

sigset_t awaited_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN);
    return set;
}

void say(const char* line) {
    puts(line);
    fflush(stdout);
}

// Handles signals until SIGTERM.
void await_check(Memory& memory) {
    const sigset_t set = awaited_signals();
    for (;;) {
        const int signal = sigwaitinfo(&set, nullptr);
        if (signal == SIGTERM) {
            return;
        }
        if (signal == SIGUSR1) {
            require(memory.intact(), "the memory");
        } else if (signal == SIGUSR2) {
            memory.change();
            say("CHANGED");
        } else if (signal == SIGRTMIN) {
            require(memory.answers(), "the memory");
            say("HERE");
        }
    }
}

// Starts a child, which sends one byte when it is ready, and sleeps.
pid_t start_child(std::size_t bytes, std::uint64_t seed, bool text) {
    Pipe report{};
    if (pipe(report.data()) != 0) {
        die("pipe");
    }
    const pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        Memory memory(bytes, seed, text);
        if (write(report[1], "r", 1) != 1) {
            die("write");
        }
        close(report[0]);
        close(report[1]);
        await_check(memory);
        _exit(memory.intact() ? 0 : 1);
    }
    close(report[1]);
    char byte = 0;
    if (read(report[0], &byte, 1) != 1) {
        die("a child");
    }
    close(report[0]);
    return pid;
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, unsigned> wanted{{"memory", 1}, {"processes", 1}};
    for (int i = 1; i < argc; ++i) {
        const char* const equals = strchr(argv[i], '=');
        if (equals == nullptr) {
            fputs("usage: workload [WHAT=COUNT]...\n", stderr);
            return 2;
        }
        wanted[std::string(static_cast<const char*>(argv[i]), equals)] = static_cast<unsigned>(atol(equals + 1));
    }
    const std::size_t bytes = static_cast<std::size_t>(wanted["memory"]) << 20;
    const sigset_t set = awaited_signals();
    sigprocmask(SIG_BLOCK, &set, nullptr);

    allow_many_files();
    const Files files(static_cast<std::size_t>(wanted["tmpfs"]) << 20);
    open_shared(wanted["shared"]);
    std::vector<pid_t> children;
    for (unsigned i = 1; i < wanted["processes"]; ++i) {
        children.push_back(start_child(bytes, i, wanted["text"] != 0));
    }
    Memory memory(bytes, 0, wanted["text"] != 0);
    start_threads(static_cast<int>(wanted["threads"]));
    const std::vector<Pipe> pipes = open_pipes(wanted["pipes"]);
    const std::vector<Pipe> connections = open_connections(wanted["connections"]);
    const Mixture mixture(wanted["mixed"]);
    say("READY");
    if (wanted["tmpfs"] != 0) {
        // Files that were open before the namespace was created are on mounts outside of it.
        const int null = open("/dev/null", O_RDWR);
        for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            require(dup2(null, fd) == fd, "/dev/null");
        }
        close(null);
    }
    await_check(memory);

    bool good = memory.intact() && hold_their_numbers(pipes) && hold_their_numbers_both_ways(connections) &&
                mixture.intact() && files.intact();
    for (const pid_t child : children) {
        int status = 0;
        kill(child, SIGTERM);
        good &= waitpid(child, &status, 0) == child && status == 0;
    }
    _exit(good ? 0 : 1);
}
