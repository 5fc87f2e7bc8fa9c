// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one user namespace only
#include "user_trees.hpp"

ZDTM("nested user namespaces of children: one of a user, one without an id map, and one that was entered") {
    zdtm::live_with_user_spaces(me);
}
