// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*memfd_secret.*close and unmap
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses memory of memfd_secret(2)") {
    constexpr long kMemfdSecret = 447;
    if (syscall(kMemfdSecret, 0) == -1) {
        zdtm::skip("no memfd_secret here: %s", strerror(errno));
    }
    me.wait_for_check();
}
