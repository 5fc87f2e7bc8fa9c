// SPDX-License-Identifier: GPL-2.0-only
// Threads of a test, which start together, wait for the check and are joined.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace zdtm {

// Sleeps while the word is `value`, by futex(2), without descriptors or locks.
void futex_wait(const std::atomic<int>& word, int value);
void futex_wake(const std::atomic<int>& word);

class Threads {
public:
    // 0 until release() is called.
    using Flag = std::atomic<int>;

    // Starts `count` threads with small stacks. Each calls prepare(index), and check(index) after release().
    Threads(unsigned count, std::function<void(unsigned)> prepare, std::function<void(unsigned)> check);

    // Starts threads that read the flag themselves: body(index, threads) has to call arrive() once.
    Threads(unsigned count, std::function<void(unsigned, Threads&)> body);

    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    void arrive();
    void wait_release() const;
    [[nodiscard]] const Flag& released() const { return released_; }

    // Waits until every thread has called arrive().
    void wait_arrived() const;

    // Releases the threads for their check, and joins them.
    void finish();

    [[nodiscard]] pthread_t handle(unsigned index) const { return handles_[index]; }

private:
    struct Start {
        Threads* all;
        unsigned index;
    };
    static void* run(void* argument);
    void start(unsigned count);

    std::function<void(unsigned, Threads&)> body_;
    std::vector<pthread_t> handles_;
    std::vector<std::unique_ptr<Start>> starts_;
    std::atomic<int> arrived_{0};
    Flag released_{0};
};

}  // namespace zdtm
