// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/landlock.hpp"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace criu::kernel {

bool hasLandlock() noexcept {
    return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

}  // namespace criu::kernel
