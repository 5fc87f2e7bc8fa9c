// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/guarded.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/pidfd.hpp"

namespace criu::engine {

int runGuarded(StopRequest& stop, const std::function<int()>& work) {
    const pid_t guardian = ::getpid();
    const pid_t worker = sys(::fork(), "create the process that does the work");
    if (worker == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (::getppid() != guardian)
            ::raise(SIGTERM);  // it was gone before we could ask to be told
        ::_exit(work());
    }
    const kernel::PidFd process(worker);
    bool passedOn = false;
    for (;;) {
        pollfd events[] = {{process.fd(), POLLIN, 0}, {passedOn ? -1 : stop.fd(), POLLIN, 0}};
        if (::poll(events, std::size(events), -1) < 0 && errno != EINTR)
            failErrno("wait for process {}", worker);
        if (events[1].revents != 0) {
            ::kill(worker, SIGTERM);
            passedOn = true;
        }
        int status = 0;
        if (events[0].revents != 0 && ::waitpid(worker, &status, 0) == worker) {
            stop.settle();
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
}

}  // namespace criu::engine
