// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <vector>

#include "landlock.hpp"
#include "other_user.hpp"
#include "threads.hpp"

namespace {

// Changes the ids of the calling thread only.
void become(uid_t real, uid_t effective) {
    SYS(syscall(SYS_setresgid, real, effective, effective));
    SYS(syscall(SYS_setresuid, real, effective, effective));
}

void require_no_trace() {
    rusage usage{};
    SYS(getrusage(RUSAGE_CHILDREN, &usage));
    CHECK(usage.ru_maxrss == 0, "it had a child of %ld KiB", usage.ru_maxrss);
    CHECK(waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD, "it has a child");
}

}  // namespace

ZDTM("a dump accepts processes in no Landlock domain that look as if they were in one") {
    const std::vector<pid_t> children = {
        // Only a tracer with CAP_SYS_PTRACE may read this process.
        me.start_child([](zdtm::Task& task) {
            zdtm::become_user();
            SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
            SYS(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
            zdtm::Threads threads(
                20, [](unsigned) {}, [](unsigned) {});
            threads.wait_arrived();
            task.wait_for_check();
            threads.finish();
            require_no_trace();
        }),
        // The process may not ptrace itself.
        me.start_child([](zdtm::Task& task) {
            become(2000, 2001);
            task.wait_for_check();
            require_no_trace();
        }),
        // The threads have different users.
        me.start_child([](zdtm::Task& task) {
            zdtm::Threads threads(
                6, [](unsigned index) { become(3000 + index, 3000 + index / 2); }, [](unsigned) {});
            threads.wait_arrived();
            task.wait_for_check();
            threads.finish();
            require_no_trace();
        }),
        // Limits leave this process and the next one no free descriptor, and the third one no free process.
        me.start_child([](zdtm::Task& task) {
            const rlimit few{1, 1024};
            SYS(setrlimit(RLIMIT_NOFILE, &few));
            become(4000, 4000);
            task.wait_for_check();
            CHECK(dup(0) == -1 && errno == EMFILE, "the limit is another");
            require_no_trace();
        }),
        me.start_child([](zdtm::Task& task) {
            const rlimit few{1, 1};
            SYS(setrlimit(RLIMIT_NOFILE, &few));
            become(4200, 4200);
            task.wait_for_check();
            CHECK(dup(0) == -1 && errno == EMFILE, "the limit is another");
            require_no_trace();
        }),
        me.start_child([](zdtm::Task& task) {
            rlimit one{1, 1};
            SYS(setrlimit(RLIMIT_NPROC, &one));
            become(4500, 4500);
            task.wait_for_check();
            SYS(getrlimit(RLIMIT_NPROC, &one));
            CHECK(one.rlim_cur == 1 && one.rlim_max == 1, "the limit is %ld", static_cast<long>(one.rlim_cur));
            require_no_trace();
        }),
        // A child has ended, and SIGCHLD is pending.
        me.start_child([](zdtm::Task& task) {
            sigset_t ends;
            sigemptyset(&ends);
            sigaddset(&ends, SIGCHLD);
            SYS(sigprocmask(SIG_BLOCK, &ends, nullptr));
            become(5000, 5000);
            const pid_t child = SYS(fork());
            if (child == 0) {
                _exit(5);
            }
            siginfo_t info{};
            SYS(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT));
            task.wait_for_check();
            CHECK(sigtimedwait(&ends, &info, nullptr) == SIGCHLD && info.si_pid == child, "of %d", info.si_pid);
            CHECK(WEXITSTATUS(zdtm::wait_status(child)) == 5, "another status");
        }),
        // The next child is the first process of a new pid namespace.
        me.start_child([](zdtm::Task& task) {
            SYS(unshare(CLONE_NEWPID));
            task.wait_for_check();
            const pid_t child = SYS(fork());
            if (child == 0) {
                _exit(getpid() == 1 ? 0 : 1);
            }
            CHECK(zdtm::wait_status(child) == 0, "the child isn't the first one");
        }),
        // The process has a ruleset that it never enforced.
        me.start_child([](zdtm::Task& task) {
            landlock_ruleset_attr rules{};
            rules.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_DIR;
            const long file = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0);
            if (file >= 0) {
                SYS(close(static_cast<int>(file)));
            }
            SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
            task.wait_for_check();
            require_no_trace();
        }),
    };
    me.wait_for_check();
    for (const pid_t child : children) {
        me.finish(child);
    }
}
