// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one user namespace only
// A criu that is killed while it sets the next tid leaves the next pids of criu's pid namespace beside those of the
// tree, so the next criu may get a pid of the tree.
// zdtm: not-in restore-killed, restore-all-killed
// Pipes get another owner: processes of the zygote have inherited the pipe by which it reports.
// zdtm: ignore fd 5 stat
#include "user_crowds.hpp"

ZDTM("processes with several threads in nested user namespaces, also below nested pid namespaces") {
    zdtm::live_with_user_crowds(me, CLONE_NEWNET);
}
