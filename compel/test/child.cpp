// SPDX-License-Identifier: LGPL-2.1-only
#include "child.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace compel::test {

void Child::Talk::say(const std::string& line) const {
    if (::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) < 0)
        throw std::runtime_error("the other side is gone");
}

std::string Child::Talk::hear(std::chrono::milliseconds patience) const {
    pollfd ready{fd_, POLLIN, 0};
    int count = 0;
    do {
        count = ::poll(&ready, 1, static_cast<int>(patience.count()));
    } while (count < 0 && errno == EINTR);
    if (count <= 0)
        throw std::runtime_error("the other side is silent");
    std::string line(4096, '\0');
    ssize_t size = 0;
    do {
        size = ::recv(fd_, line.data(), line.size(), 0);
    } while (size < 0 && errno == EINTR);
    if (size <= 0)
        throw std::runtime_error("the other side has gone");
    line.resize(static_cast<std::size_t>(size));
    return line;
}

Child::Child(const std::function<int(const Talk&)>& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        throw std::runtime_error("socketpair");
    fd_.reset(ends[0]);
    UniqueFd other(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error("fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        fd_.reset();
        int code = 99;
        try {
            code = body(Talk(other.get()));
        } catch (const std::exception&) {
            code = 98;
        }
        ::_exit(code);
    }
}

Child::~Child() {
    if (!code_) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, __WALL);
    }
}

std::optional<int> Child::exitCode() {
    eventually([this] {
        int status = 0;
        if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
            code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return code_.has_value();
    });
    return code_;
}

void Child::awaitState(char state) const {
    if (!eventually([&] { return stateOf(pid_) == state; }))
        throw std::runtime_error(std::string("the child doesn't get into state ") + state);
}

void leaveRseq() {
    if (__rseq_size == 0)
        return;
    constexpr long areaSize = 32;
    constexpr long unregister = 1;
    auto* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
    if (::syscall(SYS_rseq, area, areaSize, unregister, RSEQ_SIG) != 0)
        throw std::runtime_error("rseq");
}

std::string statusOf(pid_t tid, const std::string& field) {
    std::ifstream file("/proc/" + std::to_string(tid) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.rfind(field + ":\t", 0) == 0)
            return line.substr(field.size() + 2);
    return "";
}

void startIdleThreads(int count) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (int index = 0; index < count; ++index) {
        pthread_t thread;
        const auto idle = [](void*) -> void* {
            for (;;)
                ::pause();
        };
        if (pthread_create(&thread, &attributes, idle, nullptr) != 0)
            throw std::runtime_error("pthread_create");
    }
    pthread_attr_destroy(&attributes);
}

std::size_t threadsListed(pid_t pid) {
    const auto path = std::filesystem::path("/proc") / std::to_string(pid) / "task";
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
}

char stateOf(pid_t tid) {
    const auto state = statusOf(tid, "State");
    return state.empty() ? '?' : state.front();
}

std::string mapsOf(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
    return {std::istreambuf_iterator<char>(file), {}};
}

bool eventually(const std::function<bool()>& done) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

#if defined(__x86_64__)
bool runs32BitCode() {
    Child child([](const Child::Talk&) -> int {
        // Without Catch's handlers, which would write into the report of the test.
        for (const int signal : {SIGSEGV, SIGTRAP, SIGILL, SIGBUS})
            ::signal(signal, SIG_DFL);
        constexpr unsigned char breakpoint = 0xcc;
        void* const page =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        std::memcpy(page, &breakpoint, sizeof(breakpoint));
        asm volatile("pushq $0x23\n\tpushq %0\n\tlretq" ::"r"(page) : "memory");
        __builtin_unreachable();
    });
    return child.exitCode() == 128 + SIGTRAP;
}
#endif

}  // namespace compel::test
