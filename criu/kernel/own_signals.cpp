// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/own_signals.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::engine {

void blockSignals(std::uint64_t mask) {
    sys(static_cast<int>(::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof(mask))), "block signals");
}

void resetSignalActions() noexcept {
    constexpr int kSignals = 64;
    const std::uint64_t none[4] = {};  // struct kernel_sigaction with SIG_DFL, no flags and an empty mask
    for (int signal = 1; signal <= kSignals; ++signal)
        ::syscall(SYS_rt_sigaction, signal, none, nullptr, sizeof(std::uint64_t));
}

void exitWithStatus(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        const rlimit none{};
        ::setrlimit(RLIMIT_CORE, &none);
        blockSignals(~maskOf(signal));
        ::kill(::getpid(), signal);
    }
    ::_exit(WEXITSTATUS(status));
}

}  // namespace criu::engine
