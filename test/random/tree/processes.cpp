// SPDX-License-Identifier: GPL-2.0-only
// Steps that create processes, and steps that set attributes of the process.
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "builder.hpp"

namespace random_tree {

namespace {

// Does the same as fork(2), with these flags. The C library keeps the thread id of the caller in memory, so the kernel
// writes the new one there.
pid_t fork_with(long flags) {
    int* tid = nullptr;
    require(prctl(PR_GET_TID_ADDRESS, &tid), "PR_GET_TID_ADDRESS");
    return static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, nullptr,
                                      nullptr, tid, nullptr));
}

void child(Builder& builder, const Step& step) {
    const std::string& number = step.word(1);
    const long shared = (step.has("files") ? CLONE_FILES : 0) | (step.has("fs") ? CLONE_FS : 0) |
                        (step.has("parent") ? CLONE_PARENT : 0);
    const pid_t pid =
        builder.start(std::atoi(number.c_str()), [&] { return shared != 0 ? fork_with(shared) : fork(); });
    builder.keep_child(number, pid);
}

// Creates a process that leads a session or a group, and that ends when it has created the child. The child's parent is
// then a subreaper.
void orphan(Builder& builder, const Step& step) {
    const pid_t leader = require(fork(), "fork");
    if (leader == 0) {
        if (step.has("session")) {
            require(setsid(), "setsid");
        } else if (step.has("group")) {
            require(setpgid(0, 0), "setpgid");
        }
        builder.start(std::atoi(step.word(1).c_str()), fork);
        _exit(0);
    }
    int status = 0;
    require(waitpid(leader, &status, 0), "waitpid");
    if (status != 0) {
        _exit(5);
    }
}

void zombie(Builder& builder, const Step& step) {
    const pid_t pid = require(fork(), "fork");
    if (pid == 0) {
        if (step.number("signal") != 0) {
            raise(static_cast<int>(step.number("signal")));
        }
        _exit(static_cast<int>(step.number("code")));
    }
    siginfo_t info{};
    require(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), "waitid");
    builder.keep_child(step.word(1), pid);
}

void stopped(Builder& builder, const Step&) {
    builder.stop_at_end();
}

void session(Builder&, const Step&) {
    require(setsid(), "setsid");
}

void group(Builder& builder, const Step& step) {
    const std::string of = step.text("of", "self");
    const pid_t leader = of == "parent" ? getpgid(getppid()) : of == "self" ? 0 : builder.child(of);
    require(setpgid(0, leader), "setpgid");
}

void control(Builder&, const Step& step) {
    const std::string& what = step.word(1);
    const auto value = static_cast<unsigned long>(step.number("value"));
    if (what == "subreaper") {
        require(prctl(PR_SET_CHILD_SUBREAPER, value), "PR_SET_CHILD_SUBREAPER");
    } else if (what == "dumpable") {
        require(prctl(PR_SET_DUMPABLE, value), "PR_SET_DUMPABLE");
    } else if (what == "keepcaps") {
        require(prctl(PR_SET_KEEPCAPS, value), "PR_SET_KEEPCAPS");
    } else if (what == "no-new-privs") {
        require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
    } else if (what == "death-signal") {
        require(prctl(PR_SET_PDEATHSIG, value), "PR_SET_PDEATHSIG");
    } else if (what == "thp-disable") {
        require(prctl(PR_SET_THP_DISABLE, value, 0, 0, 0), "PR_SET_THP_DISABLE");
    } else if (what == "timer-slack") {
        require(prctl(PR_SET_TIMERSLACK, value), "PR_SET_TIMERSLACK");
    } else if (what == "tsc") {
        require(prctl(PR_SET_TSC, value), "PR_SET_TSC");
    } else if (what == "secure-bits") {
        require(prctl(PR_SET_SECUREBITS, value), "PR_SET_SECUREBITS");
    } else if (what == "memory-merge") {
        require(prctl(67, value, 0, 0, 0), "PR_SET_MEMORY_MERGE");
    } else if (what == "io-flusher") {
        require(prctl(57, value, 0, 0, 0), "PR_SET_IO_FLUSHER");
    } else {
        throw Missing("unknown control " + what);
    }
}

void name(Builder&, const Step& step) {
    require(prctl(PR_SET_NAME, step.word(1).c_str()), "PR_SET_NAME");
}

void mask_of_files(Builder&, const Step& step) {
    umask(static_cast<mode_t>(step.number("value")));
}

void folder(Builder& builder, const Step& step) {
    const std::string path = builder.path(step.word(1));
    require(mkdir(path.c_str(), 0755), "mkdir");
    require(chdir(path.c_str()), "chdir");
    if (step.has("deleted")) {
        require(rmdir(path.c_str()), "rmdir");
    }
}

void root(Builder& builder, const Step& step) {
    const std::string path = builder.path(step.word(1));
    require(mkdir(path.c_str(), 0755), "mkdir");
    require(chroot(path.c_str()), "chroot");
    builder.lose_paths();
    if (!step.has("outside")) {
        require(chdir("/"), "chdir");
    }
}

void limit(Builder&, const Step& step) {
    rlimit value{};
    value.rlim_cur = static_cast<rlim_t>(step.number("soft"));
    value.rlim_max = static_cast<rlim_t>(step.number("hard"));
    require(setrlimit(static_cast<__rlimit_resource_t>(step.number("which")), &value), "setrlimit");
}

void priority(Builder&, const Step& step) {
    require(setpriority(PRIO_PROCESS, 0, static_cast<int>(step.number("nice"))), "setpriority");
}

void schedule(Builder&, const Step& step) {
    sched_param parameters{};
    parameters.sched_priority = static_cast<int>(step.number("priority"));
    const int policy = static_cast<int>(step.number("policy")) | (step.has("reset") ? SCHED_RESET_ON_FORK : 0);
    require(sched_setscheduler(0, policy, &parameters), "sched_setscheduler");
}

void processors(Builder&, const Step& step) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<int>(step.number("cpu")), &set);
    require(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

void io_priority(Builder&, const Step& step) {
    require(syscall(SYS_ioprio_set, 1, 0, step.number("class") << 13 | step.number("level")), "ioprio_set");
}

void out_of_memory(Builder&, const Step& step) {
    std::ofstream file("/proc/self/oom_score_adj");
    if (!file) {
        errno = EACCES;
        fail_call("oom_score_adj");
    }
    file << step.number("score");
}

void personality_of(Builder&, const Step& step) {
    require(personality(static_cast<unsigned long>(step.number("value"))), "personality");
}

void groups(Builder&, const Step& step) {
    gid_t list[4] = {};
    const auto count = static_cast<std::size_t>(step.number("count"));
    for (std::size_t i = 0; i < count && i < 4; ++i) {
        list[i] = static_cast<gid_t>(step.number("first") + static_cast<long>(i) * 7);
    }
    require(setgroups(count < 4 ? count : 4, list), "setgroups");
}

// Changes the users of a process with one thread. With more, the C library aborts if one thread may not change its
// users.
void users(Builder&, const Step& step) {
    if (std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) > 1) {
        throw Missing("the process has several threads");
    }
    const auto gid = static_cast<gid_t>(step.number("gid"));
    require(setresgid(gid, gid, static_cast<gid_t>(step.number("saved-gid", static_cast<long>(gid)))), "setresgid");
    require(setresuid(static_cast<uid_t>(step.number("uid")), static_cast<uid_t>(step.number("effective")),
                      static_cast<uid_t>(step.number("saved"))),
            "setresuid");
}

void filesystem_user(Builder&, const Step& step) {
    setfsgid(static_cast<gid_t>(step.number("gid")));
    setfsuid(static_cast<uid_t>(step.number("uid")));
}

void drop_bounding(Builder&, const Step& step) {
    require(prctl(PR_CAPBSET_DROP, static_cast<unsigned long>(step.number("capability"))), "PR_CAPBSET_DROP");
}

void capabilities(Builder&, const Step& step) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    require(syscall(SYS_capget, &header, data), "capget");
    const auto dropped = static_cast<std::uint32_t>(step.number("dropped"));
    const auto disabled = static_cast<std::uint32_t>(step.number("disabled"));
    const auto inherited = static_cast<std::uint32_t>(step.number("inherited"));
    data[0].permitted &= ~dropped;
    data[0].effective &= data[0].permitted & ~disabled;
    data[0].inheritable = data[0].permitted & inherited;
    require(syscall(SYS_capset, &header, data), "capset");
    for (unsigned long number = 0; number < 32; ++number) {
        if ((data[0].inheritable & static_cast<std::uint32_t>(step.number("ambient")) & 1U << number) != 0) {
            require(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0), "PR_CAP_AMBIENT_RAISE");
        }
    }
}

// Installs a filter that refuses one system call number. No step uses that number.
void filter(Builder&, const Step& step) {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(step.number("call", 9999)), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 5),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{sizeof code / sizeof *code, code};
    require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, step.has("log") ? SECCOMP_FILTER_FLAG_LOG : 0, &program),
            "seccomp");
}

}  // namespace

void add_process_kinds(Kinds& kinds) {
    kinds["child"] = child;
    kinds["orphan"] = orphan;
    kinds["zombie"] = zombie;
    kinds["stopped"] = stopped;
    kinds["session"] = session;
    kinds["group"] = group;
    kinds["control"] = control;
    kinds["name"] = name;
    kinds["umask"] = mask_of_files;
    kinds["folder"] = folder;
    kinds["root"] = root;
    kinds["limit"] = limit;
    kinds["nice"] = priority;
    kinds["schedule"] = schedule;
    kinds["processor"] = processors;
    kinds["io-priority"] = io_priority;
    kinds["oom"] = out_of_memory;
    kinds["personality"] = personality_of;
    kinds["groups"] = groups;
    kinds["users"] = users;
    kinds["fs-user"] = filesystem_user;
    kinds["bounding"] = drop_bounding;
    kinds["capabilities"] = capabilities;
    kinds["filter"] = filter;
}

}  // namespace random_tree
