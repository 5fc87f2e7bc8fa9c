// SPDX-License-Identifier: GPL-2.0-only
// A process tree of a given size to be dumped and restored: workload MIB PROCESSES THREADS PIPES.
// Every process holds MIB of private memory, the first one also THREADS threads and PIPES pipes. It says READY, sleeps,
// and on SIGTERM ends with status 0 if memory and pipes are as they were.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

[[noreturn]] void die(const char* what) {
    perror(what);
    _exit(1);
}

std::uint64_t word(std::size_t index, std::uint64_t seed) {
    return (index + 1) * 0x9e3779b97f4a7c15ULL ^ seed;
}

class Memory {
public:
    Memory(std::size_t bytes, std::uint64_t seed) : seed_(seed) {
        void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) {
            die("mmap");
        }
        words_ = {static_cast<std::uint64_t*>(map), bytes / sizeof(std::uint64_t)};
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i] = word(i, seed_);
        }
    }

    [[nodiscard]] bool intact() const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if (words_[i] != word(i, seed_)) {
                return false;
            }
        }
        return true;
    }

private:
    std::uint64_t seed_;
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

std::vector<Pipe> open_pipes(unsigned count) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
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

void await_check() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    while (sigwaitinfo(&set, nullptr) < 0) {
    }
}

// Children go straight to sleep; they say "ready" by one byte.
pid_t start_child(std::size_t bytes, std::uint64_t seed) {
    Pipe report{};
    if (pipe(report.data()) != 0) {
        die("pipe");
    }
    const pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        const Memory memory(bytes, seed);
        if (write(report[1], "r", 1) != 1) {
            die("write");
        }
        close(report[0]);
        close(report[1]);
        await_check();
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
    if (argc != 5) {
        fputs("usage: workload MIB PROCESSES THREADS PIPES\n", stderr);
        return 2;
    }
    const std::size_t bytes = static_cast<std::size_t>(atol(argv[1])) << 20;
    const int processes = atoi(argv[2]);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);

    std::vector<pid_t> children;
    for (int i = 1; i < processes; ++i) {
        children.push_back(start_child(bytes, static_cast<std::uint64_t>(i)));
    }
    const Memory memory(bytes, 0);
    start_threads(atoi(argv[3]));
    const std::vector<Pipe> pipes = open_pipes(static_cast<unsigned>(atoi(argv[4])));
    puts("READY");
    fflush(stdout);
    await_check();

    bool good = memory.intact() && hold_their_numbers(pipes);
    for (const pid_t child : children) {
        int status = 0;
        kill(child, SIGTERM);
        good &= waitpid(child, &status, 0) == child && status == 0;
    }
    _exit(good ? 0 : 1);
}
