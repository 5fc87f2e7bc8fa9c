// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: restore-options --root /
// zdtm: fails-with-4.2 the program itself is on a mount outside of the namespace
// zdtm: plant mkdir -m 700 outside; mv inner away; ln -s "$PWD/outside" inner
// zdtm: unplant rm inner; mv away inner; rmdir outside
// zdtm: refused-with symbolic link
#include "mounted_directory.hpp"

ZDTM("at the restore, a mounted directory is a link to another one") {
    zdtm::keep_mount(me);
}
