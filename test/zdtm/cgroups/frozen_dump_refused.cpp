// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-dump-refused
// zdtm: modes refused
// zdtm: refused refers to process 1, which isn't part of the tree
#include <sys/syscall.h>

#include "frozen_first.hpp"

ZDTM("a refused dump leaves a group frozen that was frozen before, and its tasks don't run") {
    SYS(static_cast<int>(syscall(SYS_pidfd_open, 1, 0)));
    zdtm::dump_already_frozen(me, "zdtm-frozen-dump-refused");
}
