// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace criu::memory {

/// Functions that are called while pages or device contents are read or saved. Each function may be empty.
struct ReadWatch {
    /// Called with the total number of bytes before the work begins.
    std::function<void(std::uint64_t bytes)> expected = nullptr;
    /// Called with the start time and the bytes of a piece, from the thread that read or saved it.
    std::function<void(std::chrono::steady_clock::time_point begin, std::uint64_t bytes)> piece = nullptr;
};

}  // namespace criu::memory
