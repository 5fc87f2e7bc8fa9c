// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/tracee.hpp>

#include <cstdint>

namespace compel {

/// Mode and range that make the kernel store a setting of syscall user dispatch (linux/prctl.h).
struct DispatchRequest {
    std::uint64_t mode;
    std::uint64_t start;
    std::uint64_t size;
};

/// Returns the request for a setting. With PR_SYS_DISPATCH_INCLUSIVE_ON (Linux 6.17), the kernel stores all addresses
/// outside of the requested range, as a range that wraps around. It reports no mode, and accepts such a range only in
/// this way.
constexpr DispatchRequest requestFor(const UserDispatch& setting) noexcept {
    constexpr std::uint64_t on = 1;
    constexpr std::uint64_t inclusiveOn = 2;
    const std::uint64_t end = setting.start + setting.size;
    if (setting.start != 0 && end <= setting.start)
        return {inclusiveOn, end, -setting.size};
    return {on, setting.start, setting.size};
}

}  // namespace compel
