// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused-restore
// zdtm: refused-restore --join-ns user:/proc/self/ns/user
// zdtm: refused-with that is the user namespace of criu
#include "user_spaces.hpp"
#include "zdtm.hpp"

ZDTM("a restore refuses to put a tree with a private user namespace into criu's") {
    zdtm::become_root_inside();
    me.wait_for_check();
}
