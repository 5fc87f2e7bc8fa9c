// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
#include <sys/syscall.h>

#include "ring.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("io_uring: a child has a ring's descriptor without its memory; a thread uses the ring") {
    zdtm::Ring ring(8);
    ring.spin(9);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        const long result = syscall(SYS_io_uring_enter, ring.fd(), 0, 0, 0, nullptr, std::size_t{0});
        CHECK(result == 0, "in the child: %s", strerror(errno));
    });
    zdtm::Threads threads(
        1, [](unsigned) {}, [&](unsigned) { ring.spin(50); });
    me.wait_for_check();
    threads.finish();
    me.finish(child);
    ring.spin(50);
}
