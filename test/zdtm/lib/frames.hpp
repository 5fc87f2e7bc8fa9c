// SPDX-License-Identifier: GPL-2.0-only
// Which pages processes have in common.
#pragma once

#include <fcntl.h>

#include "zdtm.hpp"

namespace zdtm {

// The number of the physical page behind an address of this process, from /proc/self/pagemap; 0 if there is none, or if
// numbers are hidden.
inline std::uint64_t frame(const std::byte* address) {
    const int pagemap = SYS(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address) / page_size() * sizeof entry);
    CHECK(pread(pagemap, &entry, sizeof entry, at) == sizeof entry, "pagemap: %s", strerror(errno));
    SYS(close(pagemap));
    return (entry >> 63) == 0 ? 0 : entry & ((std::uint64_t{1} << 55) - 1);
}

}  // namespace zdtm
