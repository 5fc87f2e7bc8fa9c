// SPDX-License-Identifier: GPL-2.0-only
#include <atomic>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("2,000 threads") {
    constexpr unsigned count = 2000;
    std::vector<pid_t> tids(count);
    std::atomic<unsigned> checked{0};
    zdtm::Threads threads(
        count, [&](unsigned index) { tids[index] = gettid(); },
        [&](unsigned index) {
            CHECK(gettid() == tids[index], "tid was %d, is %d", tids[index], gettid());
            ++checked;
        });
    me.wait_for_check();
    threads.finish();
    CHECK(checked == count, "%u threads came back", checked.load());
}
