// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "criu/base/error.hpp"

namespace criu {

/// Sequenced execution of work of several threads, in the order of positions. A thread that comes too early waits for
/// all work with lower positions. Before a thread takes a position, running threads must have taken all lower
/// positions. Otherwise the threads deadlock.
class SequencedExecution {
public:
    /// Waits for all work before `position`, and then calls `work`, while no other thread runs its work. `size` is the
    /// number of positions of the work. Rethrows exceptions of `work`; calls of other threads then throw the same
    /// Error. Throws Error with ECANCELED after abandon().
    template <typename Work>
    void run(std::uint64_t position, std::uint64_t size, Work&& work) {
        begin(position);
        try {
            work();
        } catch (const Error& error) {
            end(error);
            throw;
        } catch (...) {
            abandon();
            throw;
        }
        pass(size);
    }

    /// Ends all waits. A thread calls it if it can't do its part of the sequence.
    void abandon() noexcept {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        turn_.notify_all();
    }

private:
    void begin(std::uint64_t position) {
        std::unique_lock lock(mutex_);
        turn_.wait(lock, [&] { return abandoned_ || done_ == position; });
        if (failure_)
            throw Error(*failure_);
        if (abandoned_)
            failWith(ECANCELED, "go on with pages: others have failed");
    }
    void end(const Error& error) {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        turn_.notify_all();
        failure_.emplace(error);
    }
    void pass(std::uint64_t size) {
        const std::lock_guard lock(mutex_);
        done_ += size;
        turn_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable turn_;
    std::uint64_t done_ = 0;
    bool abandoned_ = false;
    std::optional<Error> failure_;
};

}  // namespace criu
