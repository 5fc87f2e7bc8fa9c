// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused-restore
// zdtm: refused-restore --join-ns user:/proc/self/ns/user
// zdtm: refused-with that is the user namespace of criu
#include "user_spaces.hpp"
#include "zdtm.hpp"

ZDTM("a tree that was in a user namespace of its own isn't put into that of criu") {
    zdtm::become_root_inside();
    me.wait_for_check();
}
