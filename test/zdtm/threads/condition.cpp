// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also calls-fail
// zdtm: fails dump EMFILE openat compel::readThreadStatus
#include <condition_variable>
#include <mutex>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("threads that block on a mutex and on a condition variable wake up in order") {
    std::mutex held;
    std::mutex guard;
    std::condition_variable changed;
    bool go = false;
    std::atomic<int> awake{0};
    held.lock();
    zdtm::Threads threads(8, [&](unsigned index, zdtm::Threads& all) {
        all.arrive();
        if (index % 2 == 0) {
            const std::lock_guard lock(held);
            ++awake;
        } else {
            std::unique_lock lock(guard);
            changed.wait(lock, [&] { return go; });
            ++awake;
        }
    });
    usleep(20000);
    me.wait_for_check();

    CHECK(awake == 0, "%d threads woke up by themselves", awake.load());
    held.unlock();
    {
        const std::lock_guard lock(guard);
        go = true;
    }
    changed.notify_all();
    threads.finish();
    CHECK(awake == 8, "%d threads woke up", awake.load());
}
