// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <ctime>

namespace criu {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

/// Converts a time since 1970 to nanoseconds, as images store times.
[[nodiscard]] constexpr std::uint64_t nanosecondsOf(const timespec& time) noexcept {
    return static_cast<std::uint64_t>(time.tv_sec) * kNanosecondsPerSecond + static_cast<std::uint64_t>(time.tv_nsec);
}
[[nodiscard]] constexpr timespec timespecOf(std::uint64_t nanoseconds) noexcept {
    return {static_cast<time_t>(nanoseconds / kNanosecondsPerSecond),
            static_cast<long>(nanoseconds % kNanosecondsPerSecond)};
}

}  // namespace criu
