// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-traced
// zdtm: modes refused
// zdtm: refused traced by
// zdtm: fails-with-4.2 its message does not say by whom
#include "frozen_first.hpp"
#include "zdtm.hpp"

// A version 2 group: the kernel can kill its frozen tasks.
ZDTM("a refused dump thaws the group that it froze if a task in it can't be seized") {
    // The runner requests the check by a signal, which frozen tasks don't receive.
    zdtm::dump_with_traced_child(me, {"cgroup2", "", "/mnt/zdtm-frozen-traced", "cgroup.freeze", "0\n"},
                                 [&me] { me.wait_for_check(); });
}
