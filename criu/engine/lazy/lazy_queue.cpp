// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_queue.hpp"

#include <algorithm>

#include "criu/memory/lazy/lazy_memory.hpp"

namespace criu::engine {
namespace {

/// Size in bytes of a job for a page on which a thread has faulted. While no thread faults, each job for waiting pages
/// is larger than the job before by this size.
constexpr std::uint64_t kStep = std::uint64_t{64} << 10;

/// Number of faults before startOthers() from which waiting pages are supplied, too. So many faults come from a driver
/// that reads much memory of a process before the process runs.
constexpr unsigned kManyFaults = 16;

}  // namespace

void LazyQueue::add(Memory memory) {
    const std::lock_guard lock(mutex_);
    others_.push_back(std::move(memory));
    changed_.notify_all();
}

void LazyQueue::want(Memory memory, std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    window_ = 0;
    if (++faults_ == kManyFaults) {
        othersToo_ = true;
        changed_.notify_all();
    }
    if (const auto known = std::find(others_.begin(), others_.end(), memory);
        known != others_.end() && known != others_.begin()) {
        others_.erase(known);
        others_.push_front(memory);
    }
    wanted_.push_back({std::move(memory), address});
    changed_.notify_one();
}

void LazyQueue::startOthers() {
    const std::lock_guard lock(mutex_);
    othersToo_ = true;
    changed_.notify_all();
}

void LazyQueue::close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

std::optional<LazyQueue::Job> LazyQueue::nextWanted() {
    for (; !wanted_.empty(); wanted_.pop_front()) {
        Wanted& wanted = wanted_.front();
        const auto request = wanted.memory->takeAt(wanted.address, kStep);
        if (!request)
            continue;  // an earlier job contained the page
        Job job{std::move(wanted.memory), *request};
        wanted_.pop_front();
        return job;
    }
    return std::nullopt;
}

std::optional<LazyQueue::Job> LazyQueue::nextOther() {
    while (othersToo_ && !others_.empty()) {
        window_ = std::min(window_ + kStep, kMost);
        if (const auto request = others_.front()->takeNext(window_))
            return Job{others_.front(), *request};
        others_.pop_front();
    }
    return std::nullopt;
}

std::optional<LazyQueue::Job> LazyQueue::next() {
    std::unique_lock lock(mutex_);
    while (!closed_) {
        if (auto job = nextWanted())
            return job;
        if (auto job = nextOther())
            return job;
        changed_.wait(lock);
    }
    return std::nullopt;
}

}  // namespace criu::engine
