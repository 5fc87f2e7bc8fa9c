// SPDX-License-Identifier: GPL-2.0-only
// The option names one path for all runs, so only one mode can run.
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-first
// zdtm: modes leave-running
#include "frozen_first.hpp"

ZDTM("--freeze-cgroup with a version 1 group that contains the whole tree") {
    zdtm::dump_frozen_first(me, {"cgroup", "freezer", "/mnt/zdtm-frozen-first", "freezer.state", "THAWED\n"});
}
