// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "plugins/amdgpu/copier.hpp"

namespace criu::amdgpu {

/// The content of one buffer and its place in a file.
struct ContentJob {
    UniqueFd dmabuf;
    std::uint64_t size = 0;
    int file = -1;  ///< stays the caller's, open until finish()
    std::uint64_t offset = 0;
};

/// Moves contents, one thread for each GPU. The first failure is kept, what hasn't begun is dropped; destruction waits
/// for what has.
class ContentMover {
public:
    enum class Direction { Save, Load };
    ContentMover(Kernel& kernel, Direction direction, std::uint64_t bufferLimit)
        : kernel_(kernel), direction_(direction), limit_(bufferLimit) {}
    ~ContentMover();
    ContentMover(const ContentMover&) = delete;
    ContentMover& operator=(const ContentMover&) = delete;

    void add(std::uint32_t renderMinor, ContentJob job);
    /// Returns when all is moved; throws the first failure. Afterwards there are no threads.
    void finish();
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    struct Worker {
        std::deque<ContentJob> jobs;
        std::condition_variable ready;
        std::thread thread;
    };
    void work(std::uint32_t renderMinor, Worker& worker);
    void stop(bool drop) noexcept;

    Kernel& kernel_;
    Direction direction_;
    std::uint64_t limit_;
    std::uint64_t bytes_ = 0;
    std::mutex mutex_;
    bool ending_ = false;
    std::exception_ptr failure_;
    std::map<std::uint32_t, std::unique_ptr<Worker>> workers_;
};

}  // namespace criu::amdgpu
