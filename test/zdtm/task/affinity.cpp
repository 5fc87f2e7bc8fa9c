// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it does not keep affinity
#include <sched.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("CPU affinity of each thread") {
    cpu_set_t all;
    SYS(sched_getaffinity(0, sizeof all, &all));
    if (CPU_COUNT(&all) < 2) {
        zdtm::skip("one CPU");
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all)) {
            cpus.push_back(cpu);
        }
    }
    const auto only = [&](unsigned index) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpus[index % cpus.size()], &one);
        return one;
    };
    zdtm::Threads threads(
        4,
        [&](unsigned index) {
            const cpu_set_t one = only(index);
            SYS(sched_setaffinity(0, sizeof one, &one));
        },
        [&](unsigned index) {
            cpu_set_t now;
            SYS(sched_getaffinity(0, sizeof now, &now));
            const cpu_set_t one = only(index);
            CHECK(CPU_EQUAL(&now, &one), "thread %u may run on %d CPUs", index, CPU_COUNT(&now));
        });
    me.wait_for_check();
    cpu_set_t now;
    SYS(sched_getaffinity(0, sizeof now, &now));
    CHECK(CPU_EQUAL(&now, &all), "the first thread may run on %d CPUs", CPU_COUNT(&now));
    threads.finish();
}
