// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns has keys of its thread and process
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump warns about keys in the keyrings of a thread and of a process, which it does not save") {
    for (const int keyring : {KEY_SPEC_THREAD_KEYRING, KEY_SPEC_PROCESS_KEYRING}) {
        const long key = syscall(SYS_add_key, "user", "zdtm-own", "x", 1, keyring);
        if (key < 0 && (errno == ENOSYS || errno == EPERM)) {
            zdtm::skip("the kernel has no keyrings");
        }
        CHECK(key >= 0, "add_key: %s", strerror(errno));
    }
    me.wait_for_check();
}
