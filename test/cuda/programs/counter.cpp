// SPDX-License-Identifier: GPL-2.0-only
// A program that uses a GPU. usage: counter MEBIBYTES [processes N] [threads N] [device N] [fork 1|2] [exec 1] [pinned]
//                                          [spread] [child MEBIBYTES] [plain MEBIBYTES] [unseen] [open PATH]
//                                          [connect PATH]
//
// Each process fills that much device memory with a pattern, prints READY, and runs a counting kernel again and again.
// On SIGTERM it checks every word and the number of counted kernels. It prints PASS, or FAIL with the reason. It opens
// files and connects to sockets of the command line before it forks processes.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cuda_api.hpp"

namespace {

std::atomic<bool> asked{false};

struct Wanted {
    std::uint64_t mebibytes = 64;
    int processes = 1;
    int threads = 1;
    int device = 0;
    int forked = 0;           // fork a child after CUDA is in use
    int executed = 0;         // the same, with a child that executes another program
    std::uint64_t child = 0;  // MiB of each child; 0: as the first process
    std::uint64_t plain = 0;  // MiB of ordinary memory of one more child, which uses no GPU
    bool pinned = false;
    bool spread = false;  // process i uses device i
    bool unseen = false;  // the plain child has a userfaultfd, which could fill its memory without a trace
};

// Counts in one thread.
void count(int device, cuda::DevicePointer counter, const cuda::Kernels& kernels, std::atomic<std::uint64_t>& started) {
    cuda::use_device(device);
    while (!asked) {
        kernels.tick(counter);
        ++started;
        if (started % 64 == 0) {
            cuda::call("cuCtxSynchronize");
        }
        usleep(2000);
    }
    cuda::call("cuCtxSynchronize");
}

// Forks a child that waits for its end, with the inherited state or as another program.
// Forks a child; with `opens`, it opens a device by itself.
void makeChild(bool executes, bool opens = false) {
    const pid_t parent = getpid();
    if (fork() != 0) {
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0);
    }
    if (executes) {
        execlp("sleep", "sleep", "1000", static_cast<char*>(nullptr));
    }
    if (opens && open("/dev/nvidiactl", O_RDWR) < 0) {
        _exit(1);
    }
    printf("CHILD %d\n", static_cast<int>(getpid()));
    fflush(stdout);
    for (;;) {
        pause();
    }
}

// Connects to a Unix socket. A name that begins with '@' is abstract.
int connectTo(const char* name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, name, sizeof(address.sun_path) - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + strlen(name));
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? fd : -1;
}

// Opens a file or a connection that the program keeps until its end.
void hold(const std::string& kind, const char* name) {
    if ((kind == "open" ? open(name, O_RDWR | O_CLOEXEC) : connectTo(name)) < 0) {
        perror(name);
        exit(1);
    }
}

void awaitEnd() {
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    int signal = 0;
    sigwait(&end, &signal);
}

int use_gpu(const Wanted& wanted, std::uint64_t seed) {
    cuda::use_device(wanted.device);
    const cuda::Kernels kernels;
    const std::uint64_t words = (wanted.mebibytes << 20) / 8;
    const cuda::DevicePointer memory = cuda::allocate(words * 8);
    const cuda::DevicePointer numbers = cuda::allocate(16);
    const std::uint64_t zeros[2] = {0, 0};
    cuda::call("cuMemcpyHtoD_v2", numbers, static_cast<const void*>(zeros), sizeof(zeros));
    kernels.fill(memory, words, seed);
    std::uint64_t* host = nullptr;
    constexpr std::uint64_t kHostWords = 1 << 20;
    if (wanted.pinned) {
        cuda::call("cuMemHostAlloc", reinterpret_cast<void**>(&host), std::size_t{kHostWords * 8}, 0U);
        for (std::uint64_t i = 0; i < kHostWords; ++i) {
            host[i] = i * seed;
        }
    }
    cuda::call("cuCtxSynchronize");
    if (wanted.forked != 0 || wanted.executed != 0) {
        makeChild(wanted.executed != 0, wanted.forked == 2);
    }
    std::atomic<std::uint64_t> started{0};
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(wanted.threads));
    for (int i = 0; i < wanted.threads; ++i) {
        threads.emplace_back([&] { count(wanted.device, numbers, kernels, started); });
    }
    printf("READY %d\n", static_cast<int>(getpid()));
    fflush(stdout);
    awaitEnd();
    asked = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    kernels.check(memory, words, seed, numbers + 8);
    std::uint64_t found[2] = {0, 0};
    cuda::call("cuMemcpyDtoH_v2", static_cast<void*>(found), numbers, sizeof(found));
    std::uint64_t wrongPinned = 0;
    for (std::uint64_t i = 0; wanted.pinned && i < kHostWords; ++i) {
        wrongPinned += host[i] != i * seed ? 1 : 0;
    }
    const bool right = found[0] == started && found[1] == 0 && wrongPinned == 0;
    printf("%s counted %llu of %llu, %llu words of %llu wrong, %llu of host memory\n", right ? "PASS" : "FAIL",
           static_cast<unsigned long long>(found[0]), static_cast<unsigned long long>(started.load()),
           static_cast<unsigned long long>(found[1]), static_cast<unsigned long long>(words),
           static_cast<unsigned long long>(wrongPinned));
    fflush(stdout);
    return right ? 0 : 1;
}

int use_memory(std::uint64_t mebibytes, bool unseen) {
    if (unseen && syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY) < 0) {
        perror("FAIL userfaultfd");
        return 1;
    }
    std::vector<std::uint64_t> words((mebibytes << 20) / 8);
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = (i + 1) * 0x9e3779b97f4a7c15ULL;
    }
    printf("READY %d\n", static_cast<int>(getpid()));
    fflush(stdout);
    awaitEnd();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        wrong += words[i] != (i + 1) * 0x9e3779b97f4a7c15ULL ? 1 : 0;
    }
    printf("%s %llu words of ordinary memory wrong\n", wrong == 0 ? "PASS" : "FAIL",
           static_cast<unsigned long long>(wrong));
    fflush(stdout);
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char* argv[]) {
    Wanted wanted;
    if (argc > 1) {
        wanted.mebibytes = strtoull(argv[1], nullptr, 10);
    }
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "pinned") {
            wanted.pinned = true;
        } else if (word == "spread") {
            wanted.spread = true;
        } else if (word == "unseen") {
            wanted.unseen = true;
        } else if ((word == "open" || word == "connect") && i + 1 < argc) {
            hold(word, argv[++i]);
        } else if (i + 1 < argc) {
            const int value = atoi(argv[++i]);
            if (word == "child" || word == "plain") {
                (word == "child" ? wanted.child : wanted.plain) = static_cast<std::uint64_t>(value);
                continue;
            }
            (word == "processes" ? wanted.processes
             : word == "threads" ? wanted.threads
             : word == "fork"    ? wanted.forked
             : word == "exec"    ? wanted.executed
                                 : wanted.device) = value;
        }
    }
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);
    // Forks before any use of CUDA: CUDA doesn't work in a child of a process that uses it.
    std::vector<pid_t> children;
    for (int i = 1; i < wanted.processes; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            wanted.device = wanted.spread ? i : wanted.device;
            wanted.mebibytes = wanted.child != 0 ? wanted.child : wanted.mebibytes;
            _exit(use_gpu(wanted, static_cast<std::uint64_t>(1000 + i)));
        }
        children.push_back(child);
    }
    if (wanted.plain != 0) {
        const pid_t child = fork();
        if (child == 0) {
            _exit(use_memory(wanted.plain, wanted.unseen));
        }
        children.push_back(child);
    }
    int status = use_gpu(wanted, 1000);
    for (const pid_t child : children) {
        kill(child, SIGTERM);
        int ended = 0;
        if (waitpid(child, &ended, 0) != child || ended != 0) {
            printf("FAIL process %d ended with %#x\n", static_cast<int>(child), static_cast<unsigned>(ended));
            status = 1;
        }
    }
    return status;
}
