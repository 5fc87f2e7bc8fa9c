// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// A timeline of a run in a file, for Perfetto (https://ui.perfetto.dev) and other readers of the Trace Event
/// Format's JSON array. Each line is one event and one write(2), so processes and threads of the run share the file.
/// The process that opened it completes the array in the destructor. Does nothing before open(). Times count from
/// the start of the run (Log::elapsed()).
class Trace {
public:
    using Time = std::chrono::microseconds;

    Trace() = default;
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    /// Creates the file (truncated, mode 0600). Throws Error.
    void open(const std::string& path);
    [[nodiscard]] bool isOn() const noexcept { return static_cast<bool>(fd_); }

    /// Names the calling process in the timeline.
    void nameProcess(std::string_view name) const noexcept;
    /// Adds work of the calling thread from `begin` to `end`, with its number of bytes.
    void span(std::string_view what, Time begin, Time end, std::optional<std::uint64_t> bytes = {}) const noexcept;
    /// Adds a point in time.
    void moment(std::string_view what, Time at) const noexcept;

    /// Replaces the descriptor by the result of `mover`, which frees its number for restored files.
    template <typename Mover>
    void move(Mover&& mover) {
        if (fd_)
            fd_ = mover(std::move(fd_));
    }

private:
    void write(std::string_view event) const noexcept;

    UniqueFd fd_;
    int opener_ = 0;  ///< pid of the process that completes the file
};

}  // namespace criu
