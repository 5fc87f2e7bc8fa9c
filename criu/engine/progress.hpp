// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "criu/model/options.hpp"

namespace criu::engine {

/// A line on the terminal that says how far a long dump or restore is: amount, share, rate, time left. It appears after
/// half a second, is rewritten at most five times a second, and is gone when the object is.
class Progress {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// `verb` begins the line ("Dumping"). `done` counts bytes, of `total` in all as far as is known (0: not at all);
    /// both may be changed by anybody meanwhile, and must outlive this. `fd` is the terminal, -1 for no line at all.
    Progress(std::string_view verb, const std::atomic<std::uint64_t>& done, int fd,
             const std::atomic<std::uint64_t>& total, Time start = std::chrono::steady_clock::now());
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Standard error if it is a terminal and the user's options leave it to this line, else -1.
    static int terminal(const model::Options& options) noexcept;

    /// A thread rewrites the line from now on, as long as this lives; there is none if there is no line.
    void startThread();

    /// Rewrites the line if it is time to. Called by one thread only.
    void tick(Time now = std::chrono::steady_clock::now()) noexcept;

    /// "Dumping: 1.50 of 4.00 GiB (37 %), 0.75 GiB/s, 4 s left"
    static std::string line(std::string_view verb, std::uint64_t done, std::uint64_t total,
                            std::chrono::duration<double> elapsed);

private:
    std::string_view verb_;
    const std::atomic<std::uint64_t>& done_;
    int fd_;
    Time start_;
    Time next_;
    const std::atomic<std::uint64_t>& total_;
    bool shown_ = false;
    std::mutex mutex_;
    std::condition_variable ending_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace criu::engine
