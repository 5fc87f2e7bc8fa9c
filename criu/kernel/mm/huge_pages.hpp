// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace criu::kernel {

/// Size for "no huge pages".
inline constexpr std::uint64_t kNoHugePages = std::numeric_limits<std::uint64_t>::max();

/// Returns the size in bytes of the smallest huge page that a page fault in anonymous memory gets without advice of the
/// process (Documentation/admin-guide/mm/transhuge.rst of Linux), or kNoHugePages. Returns 1 if a setting can't be
/// read. `settings`: directory of the kernel's settings.
[[nodiscard]] std::uint64_t smallestHugePage(
    const std::string& settings = "/sys/kernel/mm/transparent_hugepage") noexcept;

}  // namespace criu::kernel
