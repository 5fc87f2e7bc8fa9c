// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace criu::memory {

/// Who is notified while pages, or contents of devices, are read into memory or saved; all may be empty.
struct ReadWatch {
    /// Before anything is moved: how many bytes it will be.
    std::function<void(std::uint64_t bytes)> expected = nullptr;
    /// With when a piece was begun, and its bytes, from the thread that has just moved it.
    std::function<void(std::chrono::steady_clock::time_point begin, std::uint64_t bytes)> piece = nullptr;
};

}  // namespace criu::memory
