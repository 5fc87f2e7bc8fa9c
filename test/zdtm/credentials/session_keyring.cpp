// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also own-keys
// zdtm: fails-with-4.2 the tree gets criu's session keyring
#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("the restored tree doesn't have the keys of criu's session keyring") {
    if (syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) < 0 && errno == ENOSYS) {
        zdtm::skip("the kernel has no keyrings");
    }
    me.wait_for_check();
    const long found = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "zdtm-secret", 0);
    CHECK(found == -1, "key %#lx of criu's session can be used", found);
}
