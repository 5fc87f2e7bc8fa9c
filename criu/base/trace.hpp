// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// A timeline of a run in a file, for Perfetto (https://ui.perfetto.dev) and what else reads the JSON array of the
/// Trace Event Format. Every line is one event, written with one write(2), so that processes and threads of the run
/// share the file; whoever has opened it completes the array when the object goes. Does nothing until open(). Times are
/// since the run was started, which is the same clock in all its processes (Log::elapsed()).
class Trace {
public:
    using Time = std::chrono::microseconds;

    Trace() = default;
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    /// Makes the file (truncated, mode 0600). Throws Error.
    void open(const std::string& path);
    [[nodiscard]] bool isOn() const noexcept { return static_cast<bool>(fd_); }

    /// What the calling process is called in the picture.
    void nameProcess(std::string_view name) const noexcept;
    /// Something that the calling thread did from `begin` to `end`, with how many bytes.
    void span(std::string_view what, Time begin, Time end, std::optional<std::uint64_t> bytes = {}) const noexcept;
    /// A moment.
    void moment(std::string_view what, Time at) const noexcept;

    /// Exchanges the descriptor for what `mover` makes of it: to keep numbers free for restored files.
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
