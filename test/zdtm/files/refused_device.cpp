// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*is character device 10:\d+, whose driver
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a device that criu doesn't know") {
    for (const char* const path : {"/dev/loop-control", "/dev/hpet", "/dev/snapshot", "/dev/cpu_dma_latency"})
        if (open(path, O_RDONLY | O_CLOEXEC) >= 0) {
            me.wait_for_check();
            return;
        }
    zdtm::skip("none of these devices is here");
}
