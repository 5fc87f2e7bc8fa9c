// SPDX-License-Identifier: GPL-2.0-only
// Processes with several threads in nested user namespaces.
#pragma once

#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>

#include "nested_pids.hpp"
#include "seccomp.hpp"
#include "threads.hpp"
#include "user_spaces.hpp"

namespace zdtm {

// Returns what the calling thread sees of itself.
inline std::string thread_lines() {
    const std::string path = "/proc/thread-self/status";
    std::string lines;
    for (const char* name : {"Name", "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
                             "NoNewPrivs", "Seccomp", "Seccomp_filters", "SigPnd", "SigBlk", "Threads"})
        lines += std::string(name) + " " + status_field(path, name) + "\n";
    sigset_t waiting{};
    sigpending(&waiting);
    return lines + "secure bits " + std::to_string(prctl(PR_GET_SECUREBITS)) + " nice " +
           std::to_string(getpriority(PRIO_PROCESS, 0)) + " tid " + std::to_string(gettid()) + " pending " +
           std::to_string(sigismember(&waiting, SIGUSR1)) + "\n";
}

inline void set_capabilities(std::uint32_t low) {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2]{};
    sets[0].effective = sets[0].permitted = low;
    SYS(syscall(SYS_capset, &head, sets));
}

constexpr std::uint32_t bit(unsigned capability) {
    return std::uint32_t{1} << capability;
}

inline constexpr int kFilterError = 77;

// Gives each thread other rights and attributes.
inline void become_different(unsigned index) {
    SYS(prctl(PR_SET_NAME, ("thread " + std::to_string(index)).c_str()));
    switch (index) {
        case 0:
            set_capabilities(bit(CAP_NET_ADMIN) | bit(CAP_SYS_CHROOT));
            break;
        case 1:
            SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
            set_capabilities(0);
            SYS(deny(SYS_acct, kFilterError));
            break;
        case 2: {
            SYS(setpriority(PRIO_PROCESS, 0, 15));
            sigset_t signals;
            sigemptyset(&signals);
            sigaddset(&signals, SIGUSR1);
            CHECK(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0, "sigmask");
            SYS(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
            break;
        }
        default:
            break;
    }
}

// Threads of one process, which compare themselves.
class Crowd {
public:
    static constexpr unsigned kCount = 4;

    explicit Crowd(
        const std::function<void(unsigned)>& prepare, const std::function<void(unsigned)>& check = [](unsigned) {})
        : threads_(
              kCount,
              [this, prepare](unsigned index) {
                  tids[index] = gettid();
                  prepare(index);
                  before_[index] = thread_lines();
              },
              [this, check](unsigned index) {
                  check(index);
                  after_[index] = thread_lines();
              }) {
        threads_.wait_arrived();
        // The number of threads is known only now.
        for (unsigned i = 0; i < kCount; ++i)
            before_[i].replace(before_[i].find("Threads"), 9, "Threads " + std::to_string(kCount + 1));
    }

    void check() {
        threads_.finish();
        for (unsigned i = 0; i < kCount; ++i)
            CHECK(std::string(before_[i]) == strip(after_[i]), "thread %u was\n%s\nis\n%s", i, before_[i].c_str(),
                  after_[i].c_str());
    }

    std::array<pid_t, kCount> tids{};

private:
    // The number of threads falls while the threads end.
    static std::string strip(std::string lines) {
        return lines.replace(lines.find("Threads"), 9, "Threads " + std::to_string(kCount + 1));
    }

    std::array<std::string, kCount> before_;
    std::array<std::string, kCount> after_;
    Threads threads_;
};

inline constexpr unsigned kTimerThread = 3;

// A user namespace of root, in the pid namespace of the tree. A timer signals one of the threads.
inline void live_as_inner_root(Task& task) {
    become_root_inside();
    rlimit signals{};
    SYS(getrlimit(RLIMIT_SIGPENDING, &signals));
    signals.rlim_cur = 40;
    SYS(setrlimit(RLIMIT_SIGPENDING, &signals));
    sigset_t ofTimer;
    sigemptyset(&ofTimer);
    sigaddset(&ofTimer, SIGUSR2);
    SYS(sigprocmask(SIG_BLOCK, &ofTimer, nullptr));
    Crowd crowd(become_different, [&](unsigned index) {
        if (index != kTimerThread)
            return;
        int taken = 0;
        CHECK(sigwait(&ofTimer, &taken) == 0 && taken == SIGUSR2, "signal %d", taken);
    });
    timer_t timer{};
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR2;
    event._sigev_un._tid = crowd.tids[kTimerThread];
    SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    // Signals of this pipe go to a thread, too.
    int pipe_ends[2];
    SYS(pipe(pipe_ends));
    const f_owner_ex owner{F_OWNER_TID, crowd.tids[kTimerThread]};
    SYS(fcntl(pipe_ends[0], F_SETOWN_EX, &owner));
    const std::string before = user_space_lines();
    task.wait_for_check();
    check_user_space(before);
    f_owner_ex owner_now{};
    SYS(fcntl(pipe_ends[0], F_GETOWN_EX, &owner_now));
    CHECK(owner_now.type == F_OWNER_TID && owner_now.pid == owner.pid, "owner %d of type %d", owner_now.pid,
          owner_now.type);
    itimerspec soon{};
    soon.it_value.tv_nsec = 1;
    SYS(timer_settime(timer, 0, &soon, nullptr));
    rlimit now{};
    SYS(getrlimit(RLIMIT_SIGPENDING, &now));
    CHECK(now.rlim_cur == signals.rlim_cur, "%lu", static_cast<unsigned long>(now.rlim_cur));
    crowd.check();
    check_rights_inside();
}

// A process of a sandbox: no capabilities, no new privileges, one filter for all threads.
inline void live_sandboxed(Task& task) {
    Crowd crowd([](unsigned index) { SYS(prctl(PR_SET_NAME, ("worker " + std::to_string(index)).c_str())); });
    set_capabilities(0);
    SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    task.wait_for_check();
    CHECK(getpid() != 1, "pid");
    crowd.check();
}

// Filters that TSYNC has given to all threads.
inline void live_filtered(Task& task) {
    std::atomic<int> filtered = 0;
    SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    std::array<long, 3> errors{};
    Threads threads(
        errors.size(), [](unsigned) {},
        [&](unsigned index) { errors[index] = syscall(SYS_acct, nullptr) < 0 ? errno : 0; });
    threads.wait_arrived();
    SYS(deny(SYS_acct, kFilterError, SECCOMP_FILTER_FLAG_TSYNC));
    set_capabilities(0);
    task.wait_for_check();
    threads.finish();
    for (const long error : errors)
        CHECK(error == kFilterError, "a thread has lost its filter: %s", strerror(static_cast<int>(error)));
    CHECK(syscall(SYS_acct, nullptr) < 0 && errno == kFilterError, "the filter of the main thread is lost");
}

// User, pid and network namespaces of a user: a zygote is the first process of the pid namespace. `more`: CLONE_NEW…
// flags of further namespaces.
inline void live_as_zygote(Task& task, int more) {
    constexpr uid_t user = 1000;
    SYS(setgroups(0, nullptr));
    SYS(setresgid(user, user, user));
    SYS(setresuid(user, user, user));
    become_root_inside();
    SYS(unshare(CLONE_NEWPID | more));
    const pid_t zygote = task.start_child([](Task& first) {
        CHECK(getpid() == 1, "pid %d", getpid());
        const pid_t renderer = first.start_child(live_sandboxed);
        const pid_t filtered = first.start_child(live_filtered);
        Crowd crowd(become_different);
        const std::string before = user_space_lines();
        first.wait_for_check();
        CHECK(getpid() == 1, "pid %d", getpid());
        check_user_space(before);
        crowd.check();
        first.finish(filtered);
        first.finish(renderer);
    });
    task.wait_for_check();
    task.finish(zygote);
}

// Lives with processes that have several threads in nested user namespaces.
inline void live_with_user_crowds(Task& me, int more) {
    const pid_t root = me.start_child(live_as_inner_root);
    const pid_t zygote = me.start_child([more](Task& task) { live_as_zygote(task, more); });
    me.wait_for_check();
    me.finish(root);
    me.finish(zygote);
}

}  // namespace zdtm
