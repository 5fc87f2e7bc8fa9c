// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-traced
// zdtm: modes refused
// zdtm: refused traced by
// zdtm: fails-with-4.2 its message does not say by whom
#include "frozen_first.hpp"
#include "zdtm.hpp"

// Of version 2, where frozen tasks can be killed when this fails.
ZDTM("a group that the dump froze is thawed when a task in it can't be seized") {
    // The check is asked for by a signal, which frozen tasks don't see.
    zdtm::dump_with_traced_child(me, {"cgroup2", "", "/mnt/zdtm-frozen-traced", "cgroup.freeze", "0\n"},
                                 [&me] { me.wait_for_check(); });
}
