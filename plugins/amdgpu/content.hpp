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

#include "criu/base/stop_request.hpp"
#include "plugins/amdgpu/copier.hpp"

namespace criu::amdgpu {

/// The content of one buffer and its place in a file.
struct ContentJob {
    UniqueFd dmabuf;
    std::uint64_t size = 0;
    int file = -1;  ///< stays the caller's, open until finish()
    std::uint64_t offset = 0;
};

/// Moves contents, one thread for each GPU. The first failure is kept, the rest given up, as it is by destruction.
class ContentMover {
public:
    enum class Direction { Save, Load };
    /// `stop`: ends what is under way; may be null.
    ContentMover(Kernel& kernel, Direction direction, std::uint64_t bufferLimit, StopRequest* stop)
        : kernel_(kernel), direction_(direction), limit_(bufferLimit), stop_(stop) {}
    ~ContentMover();
    ContentMover(const ContentMover&) = delete;
    ContentMover& operator=(const ContentMover&) = delete;

    void add(std::uint32_t renderMinor, ContentJob job);
    /// Returns when all is moved; throws the first failure. Afterwards there are no threads.
    void finish();
    /// After finish(): how much it was and how long it took, for the log.
    [[nodiscard]] std::string summary() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Worker {
        std::deque<ContentJob> jobs;
        std::condition_variable ready;
        std::thread thread;
    };
    void work(std::uint32_t renderMinor, Worker& worker);
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
    std::map<std::uint32_t, std::unique_ptr<Worker>> workers_;
};

}  // namespace criu::amdgpu
