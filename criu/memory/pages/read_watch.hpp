// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace criu::memory {

/// Functions that criu calls while it reads or stores pages or device contents. Each function may be empty.
struct ReadWatch {
    /// Called with the total number of bytes before the work begins.
    std::function<void(std::uint64_t bytes)> expected = nullptr;
    /// Called with the start time and the size of a piece, from the thread that read or stored this piece.
    std::function<void(std::chrono::steady_clock::time_point begin, std::uint64_t bytes)> piece = nullptr;
};

}  // namespace criu::memory
