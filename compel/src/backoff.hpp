// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace compel {

/// Makes growing pauses between polls of a thread. An interrupted thread usually stops within microseconds, so the
/// first pauses only yield the processor. A thread that doesn't stop soon is in the kernel, or waits for a processor.
/// One object must last for the whole wait, because polls without sleep take the processor from this thread.
class Backoff {
public:
    void pause() noexcept {
        if (++rounds_ <= kYields) {
            ::sched_yield();
            return;
        }
        // The first pauses must be short: a busy processor may delay the thread, and a pause delays the result by half
        // its length on average.
        delay_ = std::min(delay_ * 2, rounds_ <= kShortNaps ? kShortNap : kLongNap);
        const timespec time{0, delay_};
        ::nanosleep(&time, nullptr);
    }

private:
    static constexpr int kYields = 50;
    static constexpr int kShortNaps = 200;
    static constexpr long kShortNap = 100'000;   // nanoseconds
    static constexpr long kLongNap = 2'000'000;  // nanoseconds

    int rounds_ = 0;
    long delay_ = 10'000;
};

}  // namespace compel
