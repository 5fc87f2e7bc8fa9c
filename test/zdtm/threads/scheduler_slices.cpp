// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep them
#include <sched.h>
#include <sys/syscall.h>

#include <cstdint>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

/// struct sched_attr; <linux/sched/types.h> can't be included together with <sched.h>.
struct Attributes {
    std::uint32_t size = sizeof(Attributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0;
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
    std::uint32_t util_min = 0;
    std::uint32_t util_max = 0;

    static Attributes now() {
        Attributes found;
        SYS(syscall(SYS_sched_getattr, 0, &found, sizeof(found), 0));
        return found;
    }
};

}  // namespace

ZDTM("threads choose how long they run at a time (slices of SCHED_OTHER) and clamps of their utilization") {
    constexpr std::uint64_t kResetOnFork = 1;
    constexpr std::uint64_t kKeepOthers = 0x18;
    constexpr std::uint64_t kClamps = 0x60;
    Attributes before[5];
    zdtm::Threads threads(
        5,
        [&](unsigned index) {
            Attributes wanted;
            wanted.policy = index == 1 ? SCHED_BATCH : SCHED_OTHER;
            wanted.nice = index == 1 ? 3 : 0;
            wanted.flags = index == 2 ? kResetOnFork : 0;
            wanted.runtime = (index + 5) * 1'000'000;
            if (index < 3)
                SYS(syscall(SYS_sched_setattr, 0, &wanted, 0));
            wanted = {};
            wanted.flags = kKeepOthers | kClamps;
            wanted.util_min = 100;
            wanted.util_max = 700;
            if (index == 3)  // a kernel may lack clamps
                syscall(SYS_sched_setattr, 0, &wanted, 0);
            before[index] = Attributes::now();
        },
        [&](unsigned index) {
            const Attributes after = Attributes::now();
            const Attributes& old = before[index];
            CHECK(after.policy == old.policy && after.nice == old.nice && after.flags == old.flags,
                  "thread %u: policy %u, nice %d, flags %llu", index, after.policy, after.nice,
                  static_cast<unsigned long long>(after.flags));
            CHECK(after.runtime == old.runtime, "thread %u: slice %llu, was %llu", index,
                  static_cast<unsigned long long>(after.runtime), static_cast<unsigned long long>(old.runtime));
            CHECK(after.util_min == old.util_min && after.util_max == old.util_max, "thread %u: clamps %u to %u", index,
                  after.util_min, after.util_max);
        });
    me.wait_for_check();
    threads.finish();
}
