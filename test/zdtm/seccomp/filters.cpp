// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed
// zdtm: fails-with-4.2(from-other) it reads limits with prlimit(2), which takes CAP_SYS_RESOURCE for other users'
// processes
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "seccomp.hpp"
#include "zdtm.hpp"

namespace {
// Runs without capabilities. Filters forbid calls that a restore needs.
void live(zdtm::Task& me) {
    SYS(zdtm::deny(SYS_getsid, 5, SECCOMP_FILTER_FLAG_LOG));
    SYS(zdtm::deny(SYS_getsid, 6));
    SYS(zdtm::install_filter(SYS_setresgid, SECCOMP_RET_KILL_PROCESS));
    SYS(zdtm::install_filter(SYS_munmap, SECCOMP_RET_ERRNO | 7));
    SYS(zdtm::install_filter(SYS_prctl, SECCOMP_RET_ERRNO | 8));
    SYS(setuid(1000));
    me.wait_for_check();
    // The kernel uses the errno of the last installed filter among those with the same action.
    CHECK(syscall(SYS_getsid, 0) == -1 && errno == 6, "getsid: %s", strerror(errno));
    CHECK(syscall(SYS_munmap, 0, 0) == -1 && errno == 7, "munmap: %s", strerror(errno));
    CHECK(syscall(SYS_prctl, 3) == -1 && errno == 8, "prctl: %s", strerror(errno));
    CHECK(getuid() == 1000 && geteuid() == 1000, "uid %u", getuid());
    // The filter kills the process here. The parent checks the signal.
    syscall(SYS_setresgid, 0, 0, 0);
    CHECK(false, "alive after a forbidden system call");
}
}  // namespace

ZDTM("filters of a process without capabilities, installed when it had some") {
    const pid_t child = me.start_child(live);
    const std::string path = "/proc/" + std::to_string(child) + "/status";
    const std::string filters = zdtm::status_field(path, "Seccomp_filters");
    me.wait_for_check();
    CHECK(zdtm::status_field(path, "Seccomp") == "2", "mode %s", zdtm::status_field(path, "Seccomp").c_str());
    CHECK(zdtm::status_field(path, "Seccomp_filters") == filters, "%s filters, were %s",
          zdtm::status_field(path, "Seccomp_filters").c_str(), filters.c_str());
    CHECK(zdtm::status_field(path, "NoNewPrivs") == "0", "no_new_privs");
    SYS(kill(child, SIGTERM));
    const int status = zdtm::wait_status(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status 0x%x", status);
}
