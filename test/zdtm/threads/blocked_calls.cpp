// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: fails-with-4.2 it ends sleeps with a time limit, and leaves what the kernel ends with EINTR
// zdtm: not-in all-killed, dump-killed
#include "blocking_calls.hpp"
#include "zdtm.hpp"

ZDTM("blocked system calls of threads continue as if nothing had interrupted them") {
    zdtm::BlockingCalls calls(zdtm::BlockingCalls::Kind::Lasting);
    me.wait_for_check();
    calls.check_blocked();
}
