// SPDX-License-Identifier: GPL-2.0-only
// zdtm: not-in lazy-pages, lazy-check
#include <sys/mman.h>

#include <sstream>

#include "zdtm.hpp"

namespace {

// Returns AnonHugePages of the mapping at this address, from /proc/self/smaps.
std::size_t huge_bytes(const std::byte* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::istringstream lines(zdtm::read_file("/proc/self/smaps"));
    bool within = false;
    for (std::string line; std::getline(lines, line);) {
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        std::size_t size = 0;
        if (sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2) {
            within = start <= wanted && wanted < end;
        } else if (within && sscanf(line.c_str(), "AnonHugePages: %zu", &size) == 1) {
            return size << 10;
        }
    }
    return 0;
}

}  // namespace

ZDTM("transparent huge pages: whole, split and partly used") {
    const std::size_t huge = std::size_t{2} << 20;
    const std::span<std::byte> memory = zdtm::map(9 * huge);
    if (madvise(memory.data(), memory.size(), MADV_HUGEPAGE) != 0) {
        zdtm::skip("the kernel has no transparent huge pages");
    }
    const std::size_t skip = huge - reinterpret_cast<std::uintptr_t>(memory.data()) % huge;
    const std::span<std::byte> aligned = memory.subspan(skip, 8 * huge);
    for (std::size_t i = 0; i < 8; i += 2) {
        zdtm::fill(aligned.subspan(i * huge, huge), i);
    }
    aligned[huge] = std::byte{1};
    // Discards the middle of one huge page and makes a part of another read-only.
    SYS(madvise(&aligned[2 * huge + 64 * zdtm::page_size()], 16 * zdtm::page_size(), MADV_DONTNEED));
    SYS(mprotect(&aligned[4 * huge + 8 * zdtm::page_size()], zdtm::page_size(), PROT_READ));
    // This mapping consists of whole huge pages.
    const std::span<std::byte> whole = zdtm::map(8 * huge);
    SYS(madvise(whole.data(), whole.size(), MADV_HUGEPAGE));
    zdtm::fill(whole, 9);
    const bool were_huge = huge_bytes(whole.data()) > 0;
    me.wait_for_check();

    CHECK(!were_huge || huge_bytes(whole.data()) > 0, "its huge pages have become small ones");
    CHECK(zdtm::first_difference(whole, 9) < 0, "the memory that is all in use changed");

    CHECK(zdtm::first_difference(aligned.first(huge), 0) < 0, "a whole huge page changed");
    CHECK(aligned[huge] == std::byte{1} && aligned[2 * huge - 1] == std::byte{}, "a used huge page changed");
    const std::span<std::byte> split = aligned.subspan(2 * huge, huge);
    CHECK(zdtm::first_difference(split.first(64 * zdtm::page_size()), 2) < 0, "the part before the hole changed");
    CHECK(split[64 * zdtm::page_size()] == std::byte{} && split[80 * zdtm::page_size() - 1] == std::byte{},
          "the hole is not zero");
    CHECK(zdtm::first_difference(aligned.subspan(4 * huge, huge), 4) < 0,
          "the huge page with a read-only part changed");
    CHECK(zdtm::first_difference(aligned.subspan(6 * huge, huge), 6) < 0, "the last huge page changed");
}
