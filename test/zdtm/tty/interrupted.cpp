// SPDX-License-Identifier: GPL-2.0-only
#include "pty.hpp"

ZDTM("^C signals the foreground group of a session whose leader has no descriptor of the terminal") {
    const zdtm::Pty pty = zdtm::open_pty();
    const pid_t leader = me.start_child([&pty](zdtm::Task& task) {
        sigset_t interrupt;
        sigemptyset(&interrupt);
        sigaddset(&interrupt, SIGINT);
        SYS(sigprocmask(SIG_BLOCK, &interrupt, nullptr));
        SYS(setsid());
        SYS(close(SYS(open(pty.path.c_str(), O_RDWR))));
        SYS(close(pty.master));
        task.ready();
        siginfo_t info{};
        while (sigwaitinfo(&interrupt, &info) < 0) {
            CHECK(errno == EINTR, "%s", strerror(errno));
        }
    });
    me.wait_for_check();
    zdtm::write_text(pty.master, "\003");
    const int status = zdtm::wait_status(leader);
    CHECK(status == 0, "wait status 0x%x", status);
}
