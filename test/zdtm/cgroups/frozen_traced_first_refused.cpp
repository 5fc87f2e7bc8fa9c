// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-resumed
// zdtm: modes refused
// zdtm: refused traced by
// zdtm: fails-with-4.2 its message does not say by whom
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "frozen_first.hpp"
#include "zdtm.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Tasks that the version 1 freezer holds don't answer their tracer. A dump must thaw the group before it detaches from
// them. Otherwise each of these threads costs a wait of two seconds.
constexpr int kThreads = 8;
constexpr std::chrono::seconds kLongest(8);

std::atomic<bool> ended{false};
std::atomic<int> running{0};

// Returns the longest time that this thread did not run.
milliseconds longest_pause() {
    auto longest = Clock::duration::zero();
    ++running;
    for (auto last = Clock::now(); !ended;) {
        std::this_thread::sleep_for(milliseconds(20));
        const auto now = Clock::now();
        longest = std::max(longest, now - last);
        last = now;
    }
    return std::chrono::duration_cast<milliseconds>(longest);
}

}  // namespace

ZDTM("a refused dump thaws a version 1 group at once if a task in it can't be seized") {
    std::vector<milliseconds> pauses(kThreads);
    zdtm::dump_with_traced_child(me, {"cgroup", "freezer", "/mnt/zdtm-frozen-resumed", "freezer.state", "THAWED\n"},
                                 [&me, &pauses] {
                                     std::vector<std::thread> threads;
                                     for (milliseconds& pause : pauses) {
                                         threads.emplace_back([&pause] { pause = longest_pause(); });
                                     }
                                     // The runner compares the tree: a thread that starts later would change it.
                                     while (running < kThreads) {
                                         std::this_thread::sleep_for(milliseconds(1));
                                     }
                                     me.wait_for_check();
                                     ended = true;
                                     for (std::thread& thread : threads) {
                                         thread.join();
                                     }
                                 });
    for (const milliseconds pause : pauses) {
        CHECK(pause < kLongest, "a thread stood still for %lld ms", static_cast<long long>(pause.count()));
    }
}
