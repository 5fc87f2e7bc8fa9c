// SPDX-License-Identifier: GPL-2.0-only
// Landlock domains of tests.
#pragma once

#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zdtm.hpp"

namespace zdtm {

// Skips the test if the kernel has no Landlock.
inline void need_landlock() {
    if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
        skip("no Landlock: %s", strerror(errno));
    }
}

// Forbids the calling thread to make directories. By default it sets no_new_privs first, as a process without
// privileges must.
inline void enter_domain(bool without_privileges = true) {
    if (without_privileges) {
        SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    }
    landlock_ruleset_attr rules{};
    rules.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_DIR;
    const long file = SYS(syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0));
    SYS(syscall(SYS_landlock_restrict_self, file, 0));
    SYS(close(static_cast<int>(file)));
}

inline void check_in_domain() {
    CHECK(mkdir("/tmp/of-a-domain", 0700) == -1 && errno == EACCES, "the domain is lost: %s", strerror(errno));
}

}  // namespace zdtm
