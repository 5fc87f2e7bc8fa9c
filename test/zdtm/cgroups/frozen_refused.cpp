// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-refused
// zdtm: modes refused-restore
// zdtm: between rmdir /mnt/zdtm-frozen-refused
// zdtm: refused-restore --pidfile /etc/passwd
// zdtm: refused-with /etc/passwd.*File exists
#include "frozen_first.hpp"

ZDTM("a failed restore kills its tasks in a frozen group and removes the group") {
    zdtm::dump_already_frozen(me, "zdtm-frozen-refused");
}
