// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdarg>

namespace zdtm {
namespace {

// Writes a line by one write(2): several tasks share the file.
void put(std::string line) {
    line += '\n';
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        _exit(3);
    }
}

std::string formatted(const char* format, va_list arguments) {
    std::array<char, 1024> text{};
    vsnprintf(text.data(), text.size(), format, arguments);
    return text.data();
}

sigset_t trigger_set() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    return set;
}

std::uint64_t pattern(std::uint64_t seed, std::uint64_t word) {
    std::uint64_t value = (seed + 1) * 0x9e3779b97f4a7c15ULL + word * 0xd1342543de82ef95ULL;
    value ^= value >> 29;
    return value * 0xbf58476d1ce4e5b9ULL;
}

}  // namespace

void fail(const char* where, const char* what, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put("FAIL " + std::string(where) + ": pid " + std::to_string(getpid()) + ": " + what + ": " +
        formatted(format, arguments));
    va_end(arguments);
    _exit(1);
}

void skip(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put("SKIP " + formatted(format, arguments));
    va_end(arguments);
    _exit(77);
}

void Task::ready() {
    if (kind_ == Kind::Root) {
        put("READY");
        return;
    }
    const char byte = 'r';
    SYS(write(report_, &byte, 1));
    SYS(close(report_));
}

bool Task::triggered() const {
    sigset_t pending;
    SYS(sigpending(&pending));
    return sigismember(&pending, SIGTERM) == 1;
}

void Task::wait_trigger() {
    const sigset_t set = trigger_set();
    while (sigwaitinfo(&set, nullptr) < 0) {
        CHECK(errno == EINTR, "%s", strerror(errno));
    }
}

Task::Fork Task::fork_task() {
    std::array<int, 2> ends{};
    SYS(pipe2(ends.data(), O_CLOEXEC));
    const pid_t pid = SYS(fork());
    SYS(close(pid == 0 ? ends[0] : ends[1]));
    return {pid, pid == 0 ? ends[1] : ends[0]};
}

void Task::await_report(int pipe, pid_t child) {
    char byte = 0;
    const ssize_t got = SYS(read(pipe, &byte, 1));
    CHECK(got == 1, "child %d ended before it was ready", child);
    // The child closes its end now. A process that the child has forked may keep the pipe open.
    constexpr int kPatienceMs = 300;
    pollfd closed{pipe, 0, 0};
    SYS(poll(&closed, 1, kPatienceMs));
    SYS(close(pipe));
}

void Task::end() {
    _exit(0);
}

void Task::finish(pid_t child) {
    SYS(kill(child, SIGTERM));
    const int status = wait_status(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d: wait status 0x%x", child, status);
}

int wait_status(pid_t child) {
    int status = 0;
    pid_t got = -1;
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    CHECK(got == child, "waitpid(%d): %d, %s", child, got, strerror(errno));
    return status;
}

void kill_and_reap(pid_t child) {
    SYS(kill(child, SIGKILL));
    wait_status(child);
}

std::span<std::byte> map(std::size_t size, int protection, int flags, int fd, off_t offset, void* where) {
    void* const address = mmap(where, size, protection, flags, fd, offset);
    CHECK(address != MAP_FAILED, "%zu bytes: %s", size, strerror(errno));
    return {static_cast<std::byte*>(address), size};
}

void touch(std::span<const std::byte> memory) {
    for (std::size_t at = 0; at < memory.size(); at += page_size()) {
        static_cast<void>(*static_cast<const volatile std::byte*>(&memory[at]));
    }
}

std::string smaps_field(const void* address, const std::string& name) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const std::string smaps = read_file("/proc/self/smaps");
    bool here = false;
    for (std::size_t at = 0; at < smaps.size();) {
        const std::size_t end = std::min(smaps.find('\n', at), smaps.size());
        const std::string line = smaps.substr(at, end - at);
        unsigned long first = 0;
        unsigned long last = 0;
        if (sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
            here = first <= wanted && wanted < last;
        } else if (here && line.compare(0, name.size() + 1, name + ":") == 0) {
            const std::size_t begin = line.find_first_not_of(' ', name.size() + 1);
            return begin == std::string::npos ? std::string() : line.substr(begin);
        }
        at = end + 1;
    }
    fail(ZDTM_HERE, "smaps", "no %s at %p", name.c_str(), address);
}

bool has_vm_flag(const void* address, const std::string& flag) {
    return (" " + smaps_field(address, "VmFlags") + " ").find(" " + flag + " ") != std::string::npos;
}

void fill(std::span<std::byte> memory, std::uint64_t seed) {
    for (std::size_t at = 0; at < memory.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t value = pattern(seed, at / sizeof value);
        memcpy(&memory[at], &value, std::min(sizeof value, memory.size() - at));
    }
}

ssize_t first_difference(std::span<const std::byte> memory, std::uint64_t seed) {
    for (std::size_t at = 0; at < memory.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t value = pattern(seed, at / sizeof value);
        if (memcmp(&memory[at], &value, std::min(sizeof value, memory.size() - at)) != 0) {
            return static_cast<ssize_t>(at);
        }
    }
    return -1;
}

std::string read_file(const std::string& path) {
    const int fd = SYS(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 65536> block{};
    for (;;) {
        const ssize_t got = read(fd, block.data(), block.size());
        CHECK(got >= 0, "%s: %s", path.c_str(), strerror(errno));
        if (got == 0) {
            break;
        }
        text.append(block.data(), static_cast<std::size_t>(got));
    }
    SYS(close(fd));
    return text;
}

void write_file(const std::string& path, const std::string& text) {
    const int fd = SYS(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    const ssize_t written = SYS(write(fd, text.data(), text.size()));
    CHECK(written == static_cast<ssize_t>(text.size()), "%s: short write", path.c_str());
    SYS(close(fd));
}

std::string status_field(const std::string& path, const std::string& name) {
    const std::string text = "\n" + read_file(path);
    const std::string key = "\n" + name + ":";
    const std::size_t at = text.find(key);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = text.find_first_not_of(" \t", at + key.size());
    const std::size_t end = text.find('\n', begin);
    const std::string value = text.substr(begin, end - begin);
    const std::size_t last = value.find_last_not_of(" \t");
    return value.substr(0, last + 1);
}

std::size_t page_size() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace zdtm

int main() {
    const sigset_t set = zdtm::trigger_set();
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    // criu reads less memory in the freeze, also with --background.
    if (getenv("ZDTM_MUCH") != nullptr) {
        constexpr std::size_t kEnough = std::size_t{2} << 20;
        zdtm::fill(zdtm::map(kEnough), 1);
    }
    zdtm::Task me(zdtm::Task::Kind::Root, STDOUT_FILENO);
    zdtm_program(me);
    zdtm::put("PASS");
    return 0;
}
