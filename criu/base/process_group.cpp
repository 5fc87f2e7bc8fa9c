// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/process_group.hpp"

#include <signal.h>
#include <unistd.h>

namespace criu {

void becomeProcessGroupLeader() noexcept {
    // Outside of the terminal's foreground group a process is stopped where it writes to one with `stty tostop`, and
    // whoever waits for it would wait for ever.
    ::signal(SIGTTOU, SIG_IGN);
    (void)::setpgid(0, 0);
}

}  // namespace criu
