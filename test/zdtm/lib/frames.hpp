// SPDX-License-Identifier: GPL-2.0-only
// Pages that processes share.
#pragma once

#include <fcntl.h>

#include "zdtm.hpp"

namespace zdtm {

// Returns the physical page number of an address, from /proc/self/pagemap. Returns 0 if there is no page or the kernel
// hides numbers.
inline std::uint64_t frame(const std::byte* address) {
    const int pagemap = SYS(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address) / page_size() * sizeof entry);
    CHECK(pread(pagemap, &entry, sizeof entry, at) == sizeof entry, "pagemap: %s", strerror(errno));
    SYS(close(pagemap));
    return (entry >> 63) == 0 ? 0 : entry & ((std::uint64_t{1} << 55) - 1);
}

}  // namespace zdtm
