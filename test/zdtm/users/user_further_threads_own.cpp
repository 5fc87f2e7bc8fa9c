// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one user namespace only
// zdtm: also user-given, restore-killed
// zdtm: own-users yes
// Pipes get another owner: processes of the zygote have inherited the pipe by which it reports.
// zdtm: ignore fd 5 stat
#include "user_crowds.hpp"

ZDTM("processes with several threads in nested user namespaces, in a tree with a user namespace") {
    zdtm::live_with_user_crowds(me, 0);
}
