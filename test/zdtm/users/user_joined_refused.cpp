// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused-restore
// zdtm: refused-restore --join-ns user:/mnt/joined
// zdtm: refused-with the tree was in the user namespace of criu
#include <sys/mount.h>

#include "user_spaces.hpp"

ZDTM("a restore refuses to put a tree of criu's user namespace into another one") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::keep_user_space("/mnt/joined");
    me.wait_for_check();
}
