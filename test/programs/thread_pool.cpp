// SPDX-License-Identifier: GPL-2.0-only
// A program as people write them: a pool of threads with queues, futures, exceptions and maps. It counts primes piece
// by piece for as long as it may, and on SIGTERM says PASS if everything it has computed is right.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

class Pool {
public:
    explicit Pool(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            threads_.emplace_back([this] { work(); });
        }
    }

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    ~Pool() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

    template <typename Job>
    std::future<std::invoke_result_t<Job>> submit(Job job) {
        auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Job>()>>(std::move(job));
        auto result = task->get_future();
        {
            const std::lock_guard lock(mutex_);
            jobs_.emplace_back([task] { (*task)(); });
        }
        changed_.notify_one();
        return result;
    }

private:
    void work() {
        for (;;) {
            std::function<void()> job;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
                if (jobs_.empty()) {
                    return;
                }
                job = std::move(jobs_.front());
                jobs_.pop_front();
            }
            job();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    std::vector<std::thread> threads_;
    bool ending_ = false;
};

constexpr unsigned piece = 20000;

// Throws for every seventh piece, after the work.
unsigned primes_in(unsigned number) {
    thread_local std::vector<bool> composite;
    const unsigned begin = number * piece;
    composite.assign(piece, false);
    for (unsigned divisor = 2; divisor * divisor < begin + piece; ++divisor) {
        for (unsigned at = std::max(divisor * divisor, (begin + divisor - 1) / divisor * divisor); at < begin + piece;
             at += divisor) {
            composite[at - begin] = true;
        }
    }
    unsigned count = 0;
    for (unsigned i = begin == 0 ? 2 : 0; i < piece; ++i) {
        count += composite[i] ? 0U : 1U;
    }
    if (number % 7 == 6) {
        throw std::runtime_error(std::to_string(count));
    }
    return count;
}

unsigned result_of(std::future<unsigned>& future) {
    try {
        return future.get();
    } catch (const std::runtime_error& error) {
        return static_cast<unsigned>(std::stoul(error.what()));
    }
}

}  // namespace

int main() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    constexpr unsigned pieces = 50;  // up to a million, below which there are 78498 primes
    constexpr unsigned expected = 78498;
    unsigned rounds = 0;
    std::map<unsigned, unsigned> counts;
    {
        Pool pool(8);
        sigset_t pending;
        do {
            std::vector<std::future<unsigned>> results;
            for (unsigned i = 0; i < pieces; ++i) {
                results.push_back(pool.submit([i] { return primes_in(i); }));
            }
            unsigned sum = 0;
            for (unsigned i = 0; i < pieces; ++i) {
                const unsigned count = result_of(results[i]);
                sum += count;
                if (const auto [known, added] = counts.emplace(i, count); !added && known->second != count) {
                    printf("FAIL piece %u has %u primes, had %u\n", i, count, known->second);
                    return 1;
                }
            }
            if (sum != expected) {
                printf("FAIL %u primes instead of %u in round %u\n", sum, expected, rounds);
                return 1;
            }
            if (++rounds == 1) {
                puts("READY");
                fflush(stdout);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            sigpending(&pending);
        } while (sigismember(&pending, SIGTERM) == 0);
    }
    printf("PASS after %u rounds\n", rounds);
}
