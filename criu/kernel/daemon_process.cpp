// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/daemon_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/limits.hpp"

namespace criu::engine {

void createDaemon(std::string_view name, const std::function<void()>& keep) {
    const pid_t between = sys(::fork(), "create {}", name);
    if (between == 0) {
        const pid_t keeper = ::fork();
        if (keeper == 0)
            keep();
        ::_exit(keeper < 0 ? errno : 0);
    }
    int status = 0;
    while (::waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        failWith(WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD, "create {}", name);
}

void closeStandardStreams(const std::vector<int>& spared) {
    const UniqueFd nothing(sys(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard)
        if (std::find(spared.begin(), spared.end(), standard) == spared.end())
            sys(::dup2(nothing.get(), standard), "close standard streams");
}

void detachFromCommand() {
    ::setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM})
        ::signal(number, SIG_DFL);
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    sys(::chdir("/"), "leave the work directory");
    kernel::raiseFileLimit();
}

}  // namespace criu::engine
