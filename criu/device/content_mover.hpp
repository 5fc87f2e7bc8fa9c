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
#include "criu/device/content.hpp"

namespace criu::memory {
struct ReadWatch;
}

namespace criu::device {

/// Moves contents of device buffers, piece by piece, by several threads for each device: while the device copies one
/// piece, others are read or written. The first failure is remembered and the rest given up, as it is by destruction.
class ContentMover {
public:
    /// `bufferLimit`: bytes that the copiers of one device may use together. `stop`: ends what is under way; may be
    /// null. `watch`: of it, `piece` is called; who adds contents says how much is expected. Outlives this.
    ContentMover(ContentDriver& driver, Direction direction, std::uint64_t bufferLimit, StopRequest* stop,
                 const memory::ReadWatch& watch);
    ~ContentMover();
    ContentMover(const ContentMover&) = delete;
    ContentMover& operator=(const ContentMover&) = delete;

    /// Contents of one store come in the order of their positions, if that is ordered, and for one device.
    void add(std::uint32_t device, ContentJob job);
    /// Returns when all is moved; throws the first failure. Afterwards there are no threads.
    void finish();
    /// After finish(): how much it was, how long it took, and whether a copier took a slower way.
    void report(Log& log) const;

private:
    using Clock = std::chrono::steady_clock;
    /// A piece, and what it is of.
    struct Work {
        std::shared_ptr<const ContentJob> job;
        std::uint64_t start = 0;
        std::uint64_t size = 0;
    };
    struct Device {
        std::deque<Work> jobs;
        std::condition_variable ready;
        std::vector<std::thread> threads;
    };
    void work(std::uint32_t number, Device& device);
    void endThreads(bool drop) noexcept;
    void throwIfOver();

    ContentDriver& driver_;
    Direction direction_;
    std::uint64_t limit_;
    const std::size_t threads_;  ///< of each device
    StopRequest* stop_;
    const memory::ReadWatch& watch_;
    std::uint64_t bytes_ = 0;
    Clock::time_point began_{};      ///< the first copy
    Clock::time_point ended_{};      ///< the last one
    std::atomic<bool> over_{false};  ///< what is under way is no use any more
    std::mutex mutex_;
    bool ending_ = false;
    std::exception_ptr failure_;
    std::string fallback_;
    std::map<std::uint32_t, std::unique_ptr<Device>> devices_;
};

}  // namespace criu::device
