// SPDX-License-Identifier: GPL-2.0-only
// The kernel ends the process if criu dies after it has resumed it for a system call: PTRACE_O_SUSPEND_SECCOMP ends
// with the tracer, and the kernel checks the call later, when the thread runs (syscall_trace_enter() of Linux).
// zdtm: not-in all-killed, dump-killed, pre-dump-killed, restore-killed, restore-all-killed
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a process in strict mode (SECCOMP_MODE_STRICT)") {
    int to_child[2];
    int from_child[2];
    SYS(pipe(to_child));
    SYS(pipe(from_child));
    const pid_t child = SYS(fork());
    if (child == 0) {
        char byte = 's';
        SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
        // The kernel now allows only read, write, exit and sigreturn.
        write(from_child[1], &byte, 1);
        read(to_child[0], &byte, 1);
        ++byte;
        write(from_child[1], &byte, 1);
        read(to_child[0], &byte, 1);
        syscall(SYS_getppid);
        syscall(SYS_exit, 1);
    }
    char byte = 0;
    SYS(read(from_child[0], &byte, 1));
    me.wait_for_check();
    const std::string path = "/proc/" + std::to_string(child) + "/status";
    CHECK(zdtm::status_field(path, "Seccomp") == "1", "mode %s", zdtm::status_field(path, "Seccomp").c_str());
    SYS(write(to_child[1], "a", 1));
    CHECK(SYS(read(from_child[0], &byte, 1)) == 1 && byte == 'b', "answer %d", byte);
    SYS(write(to_child[1], "a", 1));
    const int status = zdtm::wait_status(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status 0x%x", status);
}
