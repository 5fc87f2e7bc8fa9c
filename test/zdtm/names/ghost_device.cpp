// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five, devices-unseen
#include "other_user.hpp"

ZDTM("a deleted device node, which nobody else gets to see while it is made anew") {
    const int zero = zdtm::open_deleted_device();
    zdtm::become_user();
    me.wait_for_check();

    zdtm::check_deleted_device(zero);
}
