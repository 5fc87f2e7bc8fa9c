// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused refers to a namespace that the tree isn't in
#include "user_spaces.hpp"

ZDTM("a dump refuses a descriptor of a user namespace without a pid namespace") {
    SYS(unshare(CLONE_NEWUSER));
    const int space = SYS(open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC));
    me.wait_for_check();
    uid_t owner = 0;
    SYS(ioctl(space, NS_GET_OWNER_UID, &owner));
}
