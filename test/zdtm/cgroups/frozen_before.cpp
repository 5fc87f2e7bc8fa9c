// SPDX-License-Identifier: GPL-2.0-only
// The option names one path for all runs, so only one mode can run.
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-before
// zdtm: modes leave-running
#include "frozen_first.hpp"

ZDTM("a group that is frozen before the dump with --freeze-cgroup stays frozen") {
    zdtm::dump_already_frozen(me, "zdtm-frozen-before");
}
