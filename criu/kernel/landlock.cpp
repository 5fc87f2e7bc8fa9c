// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/landlock.hpp"

#include <linux/landlock.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {

bool hasLandlock() noexcept {
    return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

int freeLandlockLayers() {
    clone_args args{};
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
    if (child < 0)
        failErrno("create a process for a moment");
    if (child == 0) {
        constexpr int kMore = 100;
        const __u64 rules = LANDLOCK_ACCESS_FS_MAKE_DIR;
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        const auto file = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0));
        int layers = 0;
        while (layers < kMore && ::syscall(SYS_landlock_restrict_self, file, 0) == 0)
            ++layers;
        ::_exit(layers);
    }
    int status = 0;
    while (::waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR)
            failErrno("wait for process {}", child);
    if (!WIFEXITED(status))
        fail("process {} of criu was ended", child);
    return WEXITSTATUS(status);
}

}  // namespace criu::kernel
