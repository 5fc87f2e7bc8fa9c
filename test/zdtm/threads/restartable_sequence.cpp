// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/rseq.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
const struct rseq* area() {
    return reinterpret_cast<const struct rseq*>(static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset);
}

// Requires the kernel to write the CPU number into the rseq area at each return to the thread.
void require_alive() {
    cpu_set_t all;
    SYS(sched_getaffinity(0, sizeof all, &all));
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all)) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            SYS(sched_setaffinity(0, sizeof one, &one));
            const auto seen = const_cast<const volatile struct rseq*>(area())->cpu_id;
            CHECK(seen == static_cast<unsigned>(cpu), "on cpu %d the area says %u", cpu, seen);
        }
    }
    SYS(sched_setaffinity(0, sizeof all, &all));
}
}  // namespace

ZDTM("the rseq area stays registered in each thread") {
    if (__rseq_size == 0) {
        zdtm::skip("glibc registered no rseq area");
    }
    zdtm::Threads threads(
        4, [](unsigned) { require_alive(); }, [](unsigned) { require_alive(); });
    require_alive();
    me.wait_for_check();
    require_alive();
    threads.finish();
}
