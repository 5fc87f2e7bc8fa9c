// SPDX-License-Identifier: GPL-2.0-only
// The option names one place for all runs, so there is only one mode.
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-first
// zdtm: modes leave-running
#include "frozen_first.hpp"

ZDTM("--freeze-cgroup with a group of version 1 that has the whole tree") {
    zdtm::dump_frozen_first(me, {"cgroup", "freezer", "/mnt/zdtm-frozen-first", "freezer.state", "THAWED\n"});
}
