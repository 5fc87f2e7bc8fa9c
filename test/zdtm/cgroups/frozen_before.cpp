// SPDX-License-Identifier: GPL-2.0-only
// The option names one place for all runs, so there is only one mode.
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-before
// zdtm: modes leave-running
#include "frozen_first.hpp"

ZDTM("--freeze-cgroup with a group that is frozen already stays frozen") {
    zdtm::dump_already_frozen(me, "zdtm-frozen-before");
}
