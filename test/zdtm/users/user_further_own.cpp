// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one user namespace only
// zdtm: also user-given
// zdtm: own-users yes
#include "user_trees.hpp"

ZDTM("nested user namespaces of children, in a tree with a user namespace") {
    zdtm::live_with_user_spaces(me);
}
