// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/process_group.hpp"

#include <signal.h>
#include <unistd.h>

namespace criu {

void becomeProcessGroupLeader() noexcept {
    // With `stty tostop`, the kernel stops a process outside of the foreground group that writes to the terminal. A
    // process that waits for it would hang.
    ::signal(SIGTTOU, SIG_IGN);
    (void)::setpgid(0, 0);
}

}  // namespace criu
