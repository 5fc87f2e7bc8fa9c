// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process 2 \(landlock_refuse\).*in a Landlock domain
// zdtm: fails-with-4.2 it loses the domain
#include "landlock.hpp"

ZDTM("a dump refuses a process in a Landlock domain") {
    zdtm::need_landlock();
    zdtm::enter_domain();
    me.wait_for_check();
    zdtm::check_in_domain();
}
