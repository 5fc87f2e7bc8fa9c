// SPDX-License-Identifier: GPL-2.0-only
#include <sys/resource.h>

#include "zdtm.hpp"

ZDTM("resource limits, lowered and different in each task") {
    // Lowers soft and hard limits. Root may lack the capability to raise hard ones.
    const auto lower = [](unsigned by) {
        for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
            rlimit limit{};
            SYS(getrlimit(static_cast<__rlimit_resource_t>(resource), &limit));
            if (resource == RLIMIT_AS || resource == RLIMIT_DATA || resource == RLIMIT_STACK ||
                resource == RLIMIT_NPROC || resource == RLIMIT_CPU) {
                limit.rlim_cur = 1'000'000'000'000 + by;
            } else if (limit.rlim_max > 1000 && resource != RLIMIT_FSIZE) {
                limit.rlim_max = 1000 + by;
                limit.rlim_cur = 500 + by;
            }
            if (limit.rlim_cur <= limit.rlim_max) {
                SYS(setrlimit(static_cast<__rlimit_resource_t>(resource), &limit));
            }
        }
    };
    const auto same = [](const rlimit* before) {
        for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
            rlimit now{};
            SYS(getrlimit(static_cast<__rlimit_resource_t>(resource), &now));
            CHECK(now.rlim_cur == before[resource].rlim_cur && now.rlim_max == before[resource].rlim_max,
                  "limit %d was %lu/%lu, is %lu/%lu", resource, before[resource].rlim_cur, before[resource].rlim_max,
                  now.rlim_cur, now.rlim_max);
        }
    };
    const auto remember = [](rlimit* all) {
        for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
            SYS(getrlimit(static_cast<__rlimit_resource_t>(resource), &all[resource]));
        }
    };
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        rlimit before[RLIM_NLIMITS] = {};
        lower(0);
        remember(before);
        task.wait_for_check();
        same(before);
    });
    lower(7);
    rlimit before[RLIM_NLIMITS] = {};
    remember(before);
    me.wait_for_check();
    same(before);
    me.finish(child);
}
