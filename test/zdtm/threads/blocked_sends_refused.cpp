// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused holds a file lock
#include <fcntl.h>
#include <sys/file.h>

#include "blocking_calls.hpp"
#include "zdtm.hpp"

ZDTM("blocked sends of threads continue after a failed dump") {
    const int lock = SYS(open("lock", O_RDWR | O_CREAT, 0600));
    SYS(flock(lock, LOCK_EX));
    zdtm::BlockingCalls calls(zdtm::BlockingCalls::Kind::Sends);
    me.wait_for_check();
    calls.check_blocked();
}
