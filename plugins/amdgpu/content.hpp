// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "plugins/amdgpu/transfer.hpp"

namespace criu::amdgpu {

/// Moves contents, by two threads for each GPU: while the engine copies one buffer, the next one is read or written.
/// They have half of the bounce buffer each. The first failure is kept, the rest given up, as it is by destruction.
class ContentMover {
public:
    /// `stop`: ends what is under way; may be null.
    ContentMover(Kernel& kernel, Direction direction, std::uint64_t bufferLimit, StopRequest* stop)
        : kernel_(kernel), direction_(direction), limit_(bufferLimit), stop_(stop) {}
    ~ContentMover();
    ContentMover(const ContentMover&) = delete;
    ContentMover& operator=(const ContentMover&) = delete;

    void add(std::uint32_t renderMinor, ContentJob job);
    /// Returns when all is moved; throws the first failure. Afterwards there are no threads.
    void finish();
    /// After finish(): how much it was, how long it took, and whether GPUs did it.
    void report(Log& log) const;

private:
    using Clock = std::chrono::steady_clock;
    struct Gpu {
        std::deque<ContentJob> jobs;
        std::condition_variable ready;
        std::vector<std::thread> threads;
    };
    void work(std::uint32_t renderMinor, Gpu& gpu);
    void stop(bool drop) noexcept;
    void throwIfOver();

    Kernel& kernel_;
    Direction direction_;
    std::uint64_t limit_;
    StopRequest* stop_;
    std::uint64_t bytes_ = 0;
    Clock::time_point began_{};      ///< the first copy
    Clock::time_point ended_{};      ///< the last one
    std::atomic<bool> over_{false};  ///< what is under way is no use any more
    std::mutex mutex_;
    bool ending_ = false;
    std::exception_ptr failure_;
    std::string refusal_;
    std::map<std::uint32_t, std::unique_ptr<Gpu>> gpus_;  ///< by their render nodes
};

}  // namespace criu::amdgpu
