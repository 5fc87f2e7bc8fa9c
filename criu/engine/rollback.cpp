// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rollback.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "criu/base/log.hpp"

namespace criu::engine {

RollbackStep::RollbackStep(Rollback& rollback, std::function<void()> undo) : rollback_(rollback) {
    const std::lock_guard lock(rollback_.mutex_);
    rollback_.steps_.push_front(std::move(undo));
    at_ = rollback_.steps_.begin();
}

RollbackStep::~RollbackStep() {
    const std::lock_guard lock(rollback_.mutex_);
    rollback_.steps_.erase(at_);
}

void Rollback::run(Log& log) noexcept {
    constexpr std::chrono::seconds kLongest{5};
    // While this thread holds the mutex, the destructor of a RollbackStep in another thread waits. Otherwise both
    // threads could revert the same change.
    const std::lock_guard lock(mutex_);
    for (const std::function<void()>& step : steps_) {
        try {
            auto ended = std::make_shared<std::promise<void>>();
            std::future<void> end = ended->get_future();
            std::thread([&step, ended = std::move(ended)] {
                try {
                    step();
                    ended->set_value();
                } catch (...) {
                    ended->set_exception(std::current_exception());
                }
            }).detach();
            if (end.wait_for(kLongest) == std::future_status::ready)
                end.get();
            else
                log.warn("not everything is reverted: an operation takes too long");
        } catch (const std::exception& error) {
            log.warn("not everything is reverted: {}", error.what());
        }
    }
}

}  // namespace criu::engine
