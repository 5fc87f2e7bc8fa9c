// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five, devices-unseen
#include "other_user.hpp"

ZDTM("a restore creates a deleted device node where no other user can open it") {
    const int zero = zdtm::open_deleted_device();
    zdtm::become_user();
    me.wait_for_check();

    zdtm::check_deleted_device(zero);
}
