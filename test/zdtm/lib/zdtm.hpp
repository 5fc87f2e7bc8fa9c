// SPDX-License-Identifier: GPL-2.0-only
// Interface of a test program. A program checks itself: it builds some state and reports that it is ready. Criu dumps
// and restores it any number of times. On SIGTERM the program checks that its state is unchanged.
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
// SIGTERM is blocked in every task, which waits for it and has no handler. Tests must not change that.
// Macro instead of #pragma once: a precompiled header from the compiler cache may name this file by another path.
#ifndef ZDTM_ZDTM_HPP
#define ZDTM_ZDTM_HPP

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

// Prints "FAIL where: what: details" and ends the calling process with status 1. Any task may call it.
[[noreturn, gnu::format(printf, 3, 4)]] void fail(const char* where, const char* what, const char* format, ...);

// Ends the whole test as skipped, because the machine lacks hardware or a kernel option. Only the first task may call
// it, before it is ready.
[[noreturn, gnu::format(printf, 1, 2)]] void skip(const char* format, ...);

// Fails with the text of errno if a libc call returned -1. Otherwise returns the value.
template <typename Result>
Result require(Result result, const char* where, const char* what) {
    if (result == Result(-1)) {
        fail(where, what, "%s", strerror(errno));
    }
    return result;
}

// A process of the test: the first one, or one of start_child().
class Task {
public:
    // `report` receives the message that this process is ready: standard output, or a pipe to the parent.
    enum class Kind { Root, Child };
    Task(Kind kind, int report) : kind_(kind), report_(report) {}

    // Reports that the state is built, so a dump may come at any moment. A child reports to its parent, which returns
    // from start_child(). The first process reports to the runner.
    void ready();

    // Returns true if the runner has requested the check. Costs one system call.
    [[nodiscard]] bool triggered() const;

    // Sleeps until the runner requests the check.
    void wait_trigger();

    void wait_for_check() {
        ready();
        wait_trigger();
    }

    // Forks a process that runs body(Task&) and exits with 0 after it. Returns when that process has called ready() or
    // wait_for_check(). Leaves no descriptor open.
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

    // Requests the check of a child, which must end with status 0.
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

// Calls waitpid(), which must find this child. Returns the status as wait(2) does.
int wait_status(pid_t child);

// Kills a child and reaps it.
void kill_and_reap(pid_t child);

// Calls mmap(), which must succeed. The default is anonymous private memory.
std::span<std::byte> map(std::size_t size, int protection = PROT_READ | PROT_WRITE,
                         int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1, off_t offset = 0, void* where = nullptr);

// Reads one byte of each page, so that the kernel maps untouched pages. In private anonymous memory that is the zero
// page.
void touch(std::span<const std::byte> memory);

// Returns the value of a line such as "VmFlags" or "Pss" in /proc/self/smaps, for the mapping with this address.
std::string smaps_field(const void* address, const std::string& name);

// Returns true if VmFlags in smaps contain this two-letter flag.
bool has_vm_flag(const void* address, const std::string& flag);

// Fills memory with a pattern of position and seed, so that a check notices moved or exchanged pages.
void fill(std::span<std::byte> memory, std::uint64_t seed);

// Returns the offset of the first byte that differs from fill()'s pattern, or -1.
ssize_t first_difference(std::span<const std::byte> memory, std::uint64_t seed);

// Reads a small file, or a file of /proc.
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// Returns the value after "Name:" in /proc/PID/status, trimmed; empty if there is no such line.
std::string status_field(const std::string& path, const std::string& name);

std::size_t page_size();

}  // namespace zdtm

#define ZDTM_STRING_(x) #x
#define ZDTM_STRING(x) ZDTM_STRING_(x)
#define ZDTM_HERE __FILE_NAME__ ":" ZDTM_STRING(__LINE__)

// Requires a condition. A printf message with the values follows it.
#define CHECK(condition, ...)                               \
    do {                                                    \
        if (!(condition)) {                                 \
            zdtm::fail(ZDTM_HERE, #condition, __VA_ARGS__); \
        }                                                   \
    } while (false)

// Requires a libc call not to return -1.
#define SYS(call) zdtm::require((call), ZDTM_HERE, #call)

// Begins the body of the test program. `me` is its first process. The runner shows the summary with --list.
#define ZDTM(summary) void zdtm_program([[maybe_unused]] zdtm::Task& me)

void zdtm_program(zdtm::Task& me);

#endif  // ZDTM_ZDTM_HPP
