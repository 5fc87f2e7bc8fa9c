// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: restore-options --root /
// zdtm: fails-with-4.2 the program itself is on a mount outside of the namespace
// zdtm: plant mkdir -m 700 outside; mv point away; ln -s "$PWD/outside" point
// zdtm: unplant rm point; mv away point; rmdir outside
// zdtm: refused-with symbolic link
#include "mounted_directory.hpp"

ZDTM("at the restore, a mount point is a link to another directory") {
    zdtm::keep_mount(me);
}
