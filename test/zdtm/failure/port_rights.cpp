// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
// zdtm: modes refused
// zdtm: refused thread \d+ has rights to ports of devices .*from port 0x83 on
// zdtm: fails-with-4.2 it loses them
#include <sys/io.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a thread may use a device port (ioperm), and its process has dropped that permission") {
    constexpr unsigned long kPort = 0x83;
    if (ioperm(kPort, 1, 1) < 0) {
        zdtm::skip("ioperm: %s", strerror(errno));
    }
    zdtm::Threads threads(
        1, [](unsigned) {}, [](unsigned) { (void)inb(kPort); });
    threads.wait_arrived();
    SYS(ioperm(kPort, 1, 0));
    me.wait_for_check();
    threads.finish();
}
