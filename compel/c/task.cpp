// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "compel/c/control.hpp"

using compel::c::fail;
using compel::c::failErrno;

namespace {

constexpr unsigned long long signalBit(int signal) {
    return 1ull << (signal - 1);
}

/// Returns true for stop signals that the library may send again, to stop a process that was stopped before.
bool isStopSignal(int signal) {
    return signal == SIGSTOP || signal == SIGTSTP;
}

int readStatus(int pid, seize_task_status* status, void*) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE* const file = fopen(path, "re");
    if (file == nullptr)
        return failErrno(pid, "open its status");
    *status = {};
    status->ppid = -1;
    char line[256];
    while (fgets(line, sizeof(line), file) != nullptr) {
        char* const colon = strchr(line, ':');
        if (colon == nullptr)
            continue;
        const char* value = colon + 1;
        *colon = '\0';
        if (strcmp(line, "State") == 0)
            status->state = value[strspn(value, " \t")];
        else if (strcmp(line, "Seccomp") == 0)
            status->seccomp_mode = atoi(value);
        else if (strcmp(line, "SigPnd") == 0)
            status->sigpnd = strtoull(value, nullptr, 16);
        else if (strcmp(line, "ShdPnd") == 0)
            status->shdpnd = strtoull(value, nullptr, 16);
        else if (strcmp(line, "SigBlk") == 0)
            status->sigblk = strtoull(value, nullptr, 16);
    }
    fclose(file);
    return 0;
}

/// Resumes the thread from `count` stops that come before the stop of the requested interrupt. These are the stop of
/// the signal that was found, or one stop for each queued signal.
int passStops(int pid, int count) {
    for (; count > 0; --count) {
        if (ptrace(PTRACE_CONT, pid, nullptr, nullptr) != 0)
            return failErrno(pid, "pass over a stop");
        int signal;
        if (compel::c::waitStop(pid, &signal) != 0)
            return -1;
    }
    return 0;
}

int countStops(const seize_task_status& status, int found) {
    const auto unblocked = [&](unsigned long long queue, int signal) {
        return (queue & signalBit(signal)) != 0 && (signal == SIGSTOP || (status.sigblk & signalBit(signal)) == 0);
    };
    int count = isStopSignal(found) ? 1 : 0;
    for (const auto queue : {status.sigpnd, status.shdpnd})
        for (const int signal : {SIGSTOP, SIGTSTP})
            count += unblocked(queue, signal) ? 1 : 0;
    return count;
}

/// Prepares a thread that is in the requested stop. Returns the state that its process had before the stop.
int prepareStopped(int pid, const seize_task_status& status, int signal) {
    if (ptrace(PTRACE_SETOPTIONS, pid, nullptr, static_cast<long>(PTRACE_O_TRACESYSGOOD)) != 0)
        return failErrno(pid, "mark the stops of its system calls");
    if (status.seccomp_mode != 0 && ptrace_suspend_seccomp(pid) != 0)
        return -1;
    // Refuses a thread with a pending SIGTRAP. Code that the library runs in the process ends with a SIGTRAP, and the
    // library couldn't distinguish the two.
    if (((status.sigpnd | status.shdpnd) & signalBit(SIGTRAP)) != 0)
        return fail(pid, "a SIGTRAP waits for it");
    const int stops = countStops(status, signal);
    if (stops == 0)
        return signal == SIGTRAP ? COMPEL_TASK_ALIVE : fail(pid, "it is stopped by a signal that can't be sent again");
    if (passStops(pid, stops) == 0)
        return COMPEL_TASK_STOPPED;
    kill(pid, isStopSignal(signal) ? signal : SIGSTOP);
    return -1;
}

}  // namespace

extern "C" {

int compel_interrupt_task(int pid) {
    if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
        // Only warns: if the process is a zombie, it can't be seized, and compel_wait_task() checks this.
        compel_print_on_level(COMPEL_LOG_WARN, "process %d: seize it: %s\n", pid, strerror(errno));
        return -1;
    }
    if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0)
        return 0;
    failErrno(pid, "interrupt it");
    ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    return -1;
}

int compel_wait_task(int pid, int ppid, int (*get_status)(int, seize_task_status*, void*),
                     void (*free_status)(int, seize_task_status*, void*), seize_task_status* status, void* data) {
    for (;;) {
        int state = 0;
        const bool waited = wait4(pid, &state, __WALL, nullptr) == pid;
        const bool stopped = waited && WIFSTOPPED(state);
        if (get_status(pid, status, data) != 0) {
            if (stopped)
                ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
            return -1;
        }
        if (!stopped) {
            if (status->state == 'Z')
                return waited ? COMPEL_TASK_DEAD : COMPEL_TASK_ZOMBIE;
            return fail(pid, pid == getpid() ? "it is the caller itself" : "it can't be seized");
        }
        siginfo_t info;
        int result = -1;
        if (ppid != -1 && status->ppid != ppid) {
            fail(pid, "it has another parent than before: the number was used again");
        } else if (ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info) != 0) {
            failErrno(pid, "ask for its stop's signal");
        } else if (info.si_code >> 8 == PTRACE_EVENT_STOP) {
            result = prepareStopped(pid, *status, info.si_signo);
        } else if (ptrace(PTRACE_CONT, pid, nullptr, static_cast<long>(info.si_signo)) != 0) {
            failErrno(pid, "deliver a signal");
        } else {
            // The thread has stopped because of a signal. The process handles this signal before the stop of the
            // interrupt.
            if (free_status != nullptr)
                free_status(pid, status, data);
            continue;
        }
        if (result < 0)
            ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
        return result;
    }
}

int compel_stop_task(int pid) {
    seize_task_status status;
    const int result = compel_interrupt_task(pid);
    return result == 0 ? compel_wait_task(pid, -1, readStatus, nullptr, &status, nullptr) : result;
}

int compel_parse_stop_signo(int pid) {
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info) != 0)
        return failErrno(pid, "ask for its stop's signal");
    return info.si_signo;
}

int compel_resume_task(pid_t pid, int orig_state, int state) {
    return compel_resume_task_sig(pid, orig_state, state, SIGSTOP);
}

int compel_resume_task_sig(pid_t pid, int orig_state, int state, int stop_signo) {
    int result = 0;
    switch (state) {
        case COMPEL_TASK_DEAD:
            kill(pid, SIGKILL);
            return 0;
        case COMPEL_TASK_STOPPED:
            kill(pid, SIGSTOP);
            break;
        case COMPEL_TASK_ALIVE:
            // Sends the stop signal again, because the stop of the library has ended the group-stop of the process.
            if (orig_state == COMPEL_TASK_STOPPED)
                kill(pid, isStopSignal(stop_signo) ? stop_signo : SIGSTOP);
            break;
        default:
            result = fail(pid, "there is no such state to leave it in");
    }
    return ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0 ? result : failErrno(pid, "detach from it");
}
}
