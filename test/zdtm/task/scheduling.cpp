// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/resource.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct Policy {
    int policy, priority, nice;
};

constexpr int kReset = SCHED_RESET_ON_FORK;
constexpr Policy policies[] = {{SCHED_OTHER, 0, 5},  {SCHED_OTHER, 0, -3},        {SCHED_BATCH, 0, 7},
                               {SCHED_IDLE, 0, 0},   {SCHED_FIFO, 3, 0},          {SCHED_RR, 7, 0},
                               {SCHED_OTHER, 0, 19}, {SCHED_FIFO | kReset, 4, 0}, {SCHED_BATCH | kReset, 0, 3}};

// Cgroups of the machine may forbid real-time policies. The program stores the result before the dump.
bool got[std::size(policies)];
}  // namespace

ZDTM("scheduling policy, priority, SCHED_RESET_ON_FORK and nice value of each thread") {
    zdtm::Threads threads(
        std::size(policies),
        [](unsigned index) {
            const Policy& wanted = policies[index];
            const sched_param parameters{wanted.priority};
            got[index] = sched_setscheduler(0, wanted.policy, &parameters) == 0;
            CHECK(got[index] || (errno == EPERM && wanted.priority > 0), "policy %d: %s", wanted.policy,
                  strerror(errno));
            SYS(setpriority(PRIO_PROCESS, 0, wanted.nice));
        },
        [](unsigned index) {
            const Policy& wanted = policies[index];
            const int policy = SYS(sched_getscheduler(0));
            sched_param parameters{};
            SYS(sched_getparam(0, &parameters));
            const Policy usual_policy{SCHED_OTHER, 0, 0};
            const Policy& set = got[index] ? wanted : usual_policy;
            CHECK(policy == set.policy, "thread %u: policy %#x", index, policy);
            CHECK(parameters.sched_priority == set.priority, "thread %u: priority %d", index,
                  parameters.sched_priority);
            errno = 0;
            const int nice = getpriority(PRIO_PROCESS, 0);
            CHECK(errno == 0 && nice == wanted.nice, "thread %u: nice %d", index, nice);
            // Threads with SCHED_IDLE end late on a busy machine, and a restore needs their ids.
            const sched_param usual{0};
            SYS(sched_setscheduler(0, SCHED_OTHER, &usual));
        });
    SYS(setpriority(PRIO_PROCESS, 0, 2));
    me.wait_for_check();
    CHECK(getpriority(PRIO_PROCESS, 0) == 2, "nice %d", getpriority(PRIO_PROCESS, 0));
    threads.finish();
}
