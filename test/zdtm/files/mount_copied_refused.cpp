// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --link-remap
// zdtm: refused fd \d+ of pid \d+ .*on one that is detached
#include <fcntl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a mount by open_tree(2) that is not attached; its path leads to the original directory") {
    constexpr unsigned kClone = 1;  // OPEN_TREE_CLONE
    if (syscall(SYS_open_tree, AT_FDCWD, "/", kClone | O_CLOEXEC) < 0)
        zdtm::skip("no mount can be copied here: %s", strerror(errno));
    me.wait_for_check();
}
