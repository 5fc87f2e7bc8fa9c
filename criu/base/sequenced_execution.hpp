// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "criu/base/error.hpp"

namespace criu {

/// Brings what several threads have of one sequence into its order: each part knows its position, and one that comes
/// too early waits until all before it were done. Whoever has a part must have taken it after those before it were
/// taken by others who go on, or else everybody waits for nobody.
class SequencedExecution {
public:
    /// Calls `work` when all before `position` is done; nobody else's work runs meanwhile. `size`: what the part adds
    /// to the position. Throws what `work` throws; all that wait, or come later, then throw the same if it is an Error.
    /// Throws Error with ECANCELED after abandon().
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

    /// A part won't come: nobody waits for it any longer.
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
