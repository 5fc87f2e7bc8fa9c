// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace criu::memory {

/// Functions that are notified while pages or device contents are read or saved; all may be empty.
struct ReadWatch {
    /// Called before the work with the total bytes.
    std::function<void(std::uint64_t bytes)> expected = nullptr;
    /// Called with the start time and the bytes of a piece, from the thread that moved it.
    std::function<void(std::chrono::steady_clock::time_point begin, std::uint64_t bytes)> piece = nullptr;
};

}  // namespace criu::memory
