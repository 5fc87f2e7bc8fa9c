// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/probe/child.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/process_title.hpp"

namespace criu::kernel::probe {

namespace {

pid_t forkChild() {
    const pid_t parent = ::getpid();
    const pid_t child = sys(::fork(), "fork a child to try out a kernel feature");
    if (child == 0) {
        setProcessTitle("try out a kernel feature");
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(1);
        // Resets signal actions and the signal mask, so that a signal which the child causes surely kills the child.
        struct sigaction byDefault {};
        byDefault.sa_handler = SIG_DFL;
        for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGSYS, SIGTRAP, SIGTERM, SIGINT})
            ::sigaction(signal, &byDefault, nullptr);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
    }
    return child;
}

int waitFor(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR)
            failErrno("wait for child {}", child);
    return status;
}

}  // namespace

bool inChild(const std::function<bool()>& body) {
    const pid_t child = forkChild();
    if (child == 0) {
        int code = 1;
        try {
            code = body() ? 0 : 1;
        } catch (const std::exception&) {
            // Ignores the exception, because the exit code 1 already reports the failure.
        }
        ::_exit(code);
    }
    const int status = waitFor(child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TracedChild::TracedChild(const std::function<void()>& body) : pid_(forkChild()) {
    if (pid_ == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
            ::_exit(1);
        ::raise(SIGSTOP);
        try {
            body();
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    if (waitStop() != SIGSTOP) {
        if (!reaped_) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, __WALL);
        }
        fail("a forked child can't be traced");
    }
}

TracedChild::~TracedChild() {
    if (reaped_)
        return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR)
        continue;
}

int TracedChild::waitStop() {
    const int status = waitFor(pid_);
    reaped_ = !WIFSTOPPED(status);
    return reaped_ ? 0 : WSTOPSIG(status);
}

int TracedChild::resumeUntilStop() {
    sys(::ptrace(PTRACE_CONT, pid_, nullptr, nullptr), "continue child {}", pid_);
    return waitStop();
}

}  // namespace criu::kernel::probe
