// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: restore-options --root /
// zdtm: fails-with-4.2 the program itself is on a mount outside of the namespace

#include "mounts.hpp"
#include "other_user.hpp"

ZDTM("a deleted device node of a mount namespace") {
    zdtm::enter_small_root();
    const int zero = zdtm::open_deleted_device();
    zdtm::become_user();
    me.wait_for_check();

    zdtm::check_deleted_device(zero);
}
