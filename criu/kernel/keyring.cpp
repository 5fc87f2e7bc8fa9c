// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/keyring.hpp"

#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {

void joinNewSessionKeyring() {
    // Ignores EPERM, because only a seccomp filter returns it. Restored tasks inherit this filter, and so can't use
    // keys either.
    if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS && errno != EPERM)
        failErrno("leave the session keyring of criu");
}

}  // namespace criu::kernel
