// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process \d+ .*it has reached its limit of address space \(RLIMIT_AS\) of \d+ bytes; prlimit --pid \d+ --as=BYTES
#include <sys/resource.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a process without room for the injection (RLIMIT_AS)") {
    const rlimit limit{4096, 4096};
    SYS(setrlimit(RLIMIT_AS, &limit));
    me.wait_for_check();
}
