// SPDX-License-Identifier: LGPL-2.1-only
#include "killed_tracer.hpp"

#include <compel/process.hpp>

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <string>

#include "child.hpp"

namespace compel::test {
namespace {

/// Returns values of a thread's status that a tracer changes temporarily, to compare them later.
std::string pictureOf(pid_t tid) {
    return statusOf(tid, "TracerPid") + ' ' + statusOf(tid, "SigBlk") + ' ' + statusOf(tid, "SigPnd") + ' ' +
           statusOf(tid, "ShdPnd") + ' ' + (stateOf(tid) == 't' ? "traced" : "");
}

}  // namespace

void dieAfter(const std::function<void()>& work) {
    const pid_t worker = ::fork();
    if (worker == 0) {
        try {
            work();
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    REQUIRE(status == 0);
}

void beginCount() {
    ::raise(SIGWINCH);
}

bool dieAt(unsigned number, const std::function<void()>& work, bool marked) {
    const pid_t worker = ::fork();
    if (worker == 0) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        int code = 0;
        try {
            work();
        } catch (const std::exception&) {
            code = 1;
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, worker, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    unsigned seen = 0;
    int signal = 0;
    for (;;) {
        ::ptrace(PTRACE_SYSCALL, worker, nullptr, signal);
        ::waitpid(worker, &status, 0);
        if (!WIFSTOPPED(status)) {
            CHECK(status == 0);
            return false;
        }
        const bool isSyscall = WSTOPSIG(status) == (SIGTRAP | 0x80);
        signal = isSyscall ? 0 : WSTOPSIG(status);
        if (signal == SIGWINCH)
            marked = false;
        if (isSyscall && !marked && seen++ == number) {
            ::kill(worker, SIGKILL);
            ::waitpid(worker, &status, 0);
            return true;
        }
    }
}

std::vector<pid_t> threadsOf(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    std::vector<pid_t> all;
    for (const auto& thread : process.threads())
        all.push_back(thread.tracee.tid());
    return all;
}

void dieEverywhere(pid_t pid, const std::function<void()>& work) {
    const std::vector<pid_t> threads = threadsOf(pid);
    std::vector<std::string> before;
    for (const pid_t tid : threads)
        before.push_back(pictureOf(tid));
    for (unsigned number = 0; dieAt(number, work); ++number) {
        INFO("killed at stop " << number);
        for (std::size_t index = 0; index < threads.size(); ++index) {
            if (!eventually([&] { return pictureOf(threads[index]) == before[index]; }))
                FAIL(pictureOf(threads[index]) << " was " << before[index]);
        }
    }
}

}  // namespace compel::test
