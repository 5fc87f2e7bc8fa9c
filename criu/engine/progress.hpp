// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "criu/model/options.hpp"

namespace criu::engine {

/// A line on the terminal that says how far a long dump or restore is: amount, share, rate. It appears after half a
/// second, is rewritten at most five times a second by whoever calls tick(), and is gone when the object is.
class Progress {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// `verb` begins the line ("Dumping"). `done` counts bytes and may be added to by any thread; it must outlive this.
    /// `fd` is the terminal, -1 for no line at all.
    Progress(std::string_view verb, const std::atomic<std::uint64_t>& done, int fd,
             Time start = std::chrono::steady_clock::now());
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Standard error if it is a terminal and the user's options leave it to this line, else -1.
    static int terminal(const model::Options& options) noexcept;

    /// How many bytes there will be in all; 0: not known.
    void expect(std::uint64_t total) noexcept { total_ = total; }

    /// Rewrites the line if it is time to. Called by one thread only.
    void tick(Time now = std::chrono::steady_clock::now()) noexcept;

    /// "Dumping: 1.50 of 4.00 GiB (37 %), 0.75 GiB/s"
    static std::string line(std::string_view verb, std::uint64_t done, std::uint64_t total,
                            std::chrono::duration<double> elapsed);

private:
    std::string_view verb_;
    const std::atomic<std::uint64_t>& done_;
    int fd_;
    Time start_;
    Time next_;
    std::uint64_t total_ = 0;
    bool shown_ = false;
};

}  // namespace criu::engine
