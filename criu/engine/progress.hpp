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

/// Shows the progress of a long dump or restore in one line of the terminal: amount, percentage, rate and remaining
/// time. The line appears after half a second and changes at most five times a second. The destructor erases it.
class Progress {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// `verb`: first word of the line, such as "Dumping". `done`, `total`: bytes, which other threads may change; a
    /// `total` of 0 is unknown. `fd`: the terminal; -1 means no line.
    Progress(std::string_view verb, const std::atomic<std::uint64_t>& done, int fd,
             const std::atomic<std::uint64_t>& total, Time start = std::chrono::steady_clock::now());
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Returns the descriptor of standard error if it is a terminal without log messages. Returns -1 if it isn't, or if
    /// the options forbid the line.
    static int terminal(const model::Options& options) noexcept;

    /// Starts a thread that rewrites the line until this object is destroyed. Does nothing without a terminal.
    void startThread();

    /// Rewrites the line if the interval has passed. Only one thread may call this.
    void tick(Time now = std::chrono::steady_clock::now()) noexcept;

    /// Returns "Dumping: 1.50 of 4.00 GiB (37 %), 0.75 GiB/s, 4 s left".
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

/// Tells a user at a terminal what criu waits for: writes one line to standard error if Progress would show a line
/// there.
void showWait(const model::Options& options, std::string_view text) noexcept;

}  // namespace criu::engine
