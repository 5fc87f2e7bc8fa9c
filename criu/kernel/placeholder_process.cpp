// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/placeholder_process.hpp"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {

PlaceholderProcess::PlaceholderProcess(pid_t pid) : pid_(0) {
    clone_args args{};
    if (pid > 0) {
        args.set_tid = reinterpret_cast<std::uint64_t>(&pid);
        args.set_tid_size = 1;
    }
    const pid_t parent = ::getpid();
    pid_ = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
    if (pid_ < 0)
        failErrno("create a process for a moment");
    if (pid_ > 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent)
        ::pause();
    ::_exit(0);
}

PlaceholderProcess::~PlaceholderProcess() {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR)
        continue;
}

}  // namespace criu::kernel
