// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// Trace of a run in a file, for Perfetto (https://ui.perfetto.dev) and other readers of the JSON array in the Trace
/// Event Format. criu writes each event as one line by one write(2), so processes and threads of the run can share the
/// file. Times count from the start of the run (Log::elapsed()).
/// The destructor completes the array in the process that opened the file. Before open(), all functions do nothing.
class Trace {
public:
    using Time = std::chrono::microseconds;

    Trace() = default;
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    /// Creates the file with mode 0600. Throws Error.
    void open(const std::string& path);
    [[nodiscard]] bool isOn() const noexcept { return static_cast<bool>(fd_); }

    /// Adds the name of the calling process to the trace.
    void nameProcess(std::string_view name) const noexcept;
    /// Adds a span for work of the calling thread from `begin` to `end`. `bytes` is the number of bytes that it
    /// processed.
    void span(std::string_view what, Time begin, Time end, std::optional<std::uint64_t> bytes = {}) const noexcept;
    /// Adds an event without duration.
    void moment(std::string_view what, Time at) const noexcept;

    /// Replaces the descriptor by the result of `mover`, so that a restored file can use the old number.
    template <typename Mover>
    void move(Mover&& mover) {
        if (fd_)
            fd_ = mover(std::move(fd_));
    }

private:
    void write(std::string_view event) const noexcept;

    UniqueFd fd_;
    int opener_ = 0;  ///< pid of the process that opened the file and completes the array
};

}  // namespace criu
