// SPDX-License-Identifier: GPL-2.0-only
#include <sys/fsuid.h>

#include "zdtm.hpp"

ZDTM("a file-system uid that differs from the other uids") {
    // Real and effective uid stay 0, so the dump needs no further privilege.
    SYS(setresuid(0, 0, 0));
    setfsuid(1234);
    me.wait_for_check();
    const int uid = setfsuid(static_cast<uid_t>(-1));
    CHECK(uid == 1234, "fsuid %d", uid);
    uid_t real = 1;
    uid_t effective = 1;
    uid_t saved = 1;
    SYS(getresuid(&real, &effective, &saved));
    CHECK(real == 0 && effective == 0 && saved == 0, "%u %u %u", real, effective, saved);
}
