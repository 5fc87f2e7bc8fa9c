// SPDX-License-Identifier: GPL-2.0-only
// What a checkpoint test program needs. Such a program is its own oracle: it builds some state, says that it is ready,
// is dumped and restored any number of times without noticing, and on SIGTERM checks that the state is as it left it.
//
//     ZDTM("a pipe keeps its data") {
//         int ends[2];
//         SYS(pipe(ends));
//         SYS(write(ends[1], "x", 1));
//         me.wait_for_check();
//         char byte = 0;
//         CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x', "got %d", byte);
//     }
//
// Standard output is an append-only file that the runner reads: READY, then PASS, FAIL … or SKIP ….
// SIGTERM is blocked in every task (it is waited for, never handled), so tests must leave it alone.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace zdtm {

// Prints "FAIL where: what: details" and ends the calling process with status 1. Safe in any task of the test.
[[noreturn, gnu::format(printf, 3, 4)]] void fail(const char* where, const char* what, const char* format, ...);

// The machine can't run this test (no such hardware or kernel option): ends the whole test, neither passed nor failed.
// Only in the first task and before it is ready.
[[noreturn, gnu::format(printf, 1, 2)]] void skip(const char* format, ...);

// Fails with errno's text when a libc call returned -1; otherwise hands its value through.
template <typename Result>
Result require(Result result, const char* where, const char* what) {
    if (result == Result(-1)) {
        fail(where, what, "%s", strerror(errno));
    }
    return result;
}

// One process of the test: the first one, or one made by start_child().
class Task {
public:
    // report: where this process says that it is ready: standard output, or its parent's pipe.
    enum class Kind { Root, Child };
    Task(Kind kind, int report) : kind_(kind), report_(report) {}

    // The state is built; from here on the tree may be dumped at any moment. Children say it to the parent, which goes
    // on from start_child(); the first process says it to the runner.
    void ready();

    // Has the check been asked for? Costs one system call.
    [[nodiscard]] bool triggered() const;

    // Sleeps until the check is asked for.
    void wait_trigger();

    void wait_for_check() {
        ready();
        wait_trigger();
    }

    // Forks a process that runs body(Task&) and exits with 0 after it; returns when that process called ready() (or
    // wait_for_check()). No descriptor stays behind.
    template <typename Body>
    pid_t start_child(Body&& body) {
        const Fork fork = fork_task();
        if (fork.pid == 0) {
            Task child(Kind::Child, fork.report);
            std::forward<Body>(body)(child);
            end();
        }
        await_report(fork.report, fork.pid);
        return fork.pid;
    }

    // Asks a child for its check and requires it to end with status 0.
    void finish(pid_t child);

private:
    struct Fork {
        pid_t pid;
        int report;
    };
    static Fork fork_task();
    static void await_report(int pipe, pid_t child);
    [[noreturn]] static void end();

    Kind kind_;
    int report_;
};

// waitpid() that must find this child; the status as wait(2) gives it.
int wait_status(pid_t child);

// Kills and reaps.
void kill_and_reap(pid_t child);

// mmap() that must succeed. Anonymous and private unless told otherwise.
std::span<std::byte> map(std::size_t size, int protection = PROT_READ | PROT_WRITE,
                         int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1, off_t offset = 0, void* where = nullptr);

// Reads one byte per page, so that untouched pages get mapped (private anonymous ones to the zero page).
void touch(std::span<const std::byte> memory);

// What /proc/self/smaps says of the mapping that holds this address: the value of a line such as "VmFlags" or "Pss".
std::string smaps_field(const void* address, const std::string& name);

// Is a two-letter flag of smaps' VmFlags set there?
bool has_vm_flag(const void* address, const std::string& flag);

// Fills memory with a pattern that depends on position and seed, so that moved or swapped pages are noticed.
void fill(std::span<std::byte> memory, std::uint64_t seed);

// First byte that differs from fill()'s pattern, or -1.
ssize_t first_difference(std::span<const std::byte> memory, std::uint64_t seed);

// The whole of a small file (or of a file in /proc).
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// The value after "Name:" in /proc/PID/status, without white space around; empty when there is no such line.
std::string status_field(const std::string& path, const std::string& name);

std::size_t page_size();

}  // namespace zdtm

#define ZDTM_STRING_(x) #x
#define ZDTM_STRING(x) ZDTM_STRING_(x)
#define ZDTM_HERE __FILE_NAME__ ":" ZDTM_STRING(__LINE__)

// Requires a condition; what follows it is a printf message with the values seen.
#define CHECK(condition, ...)                               \
    do {                                                    \
        if (!(condition)) {                                 \
            zdtm::fail(ZDTM_HERE, #condition, __VA_ARGS__); \
        }                                                   \
    } while (false)

// Requires a libc call not to return -1.
#define SYS(call) zdtm::require((call), ZDTM_HERE, #call)

// The body of the test program; `me` is its first process. The summary is shown by the runner's --list.
#define ZDTM(summary) void zdtm_program([[maybe_unused]] zdtm::Task& me)

void zdtm_program(zdtm::Task& me);
