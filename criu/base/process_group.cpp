// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/process_group.hpp"

#include <signal.h>
#include <unistd.h>

namespace criu {

void becomeProcessGroupLeader() noexcept {
    // With `stty tostop`, the kernel stops a process that writes to the terminal and isn't in the foreground group. A
    // process that waits for the stopped process would hang.
    ::signal(SIGTTOU, SIG_IGN);
    (void)::setpgid(0, 0);
}

}  // namespace criu
