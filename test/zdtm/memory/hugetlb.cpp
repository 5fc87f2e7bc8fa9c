// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("private and shared huge pages of hugetlbfs") {
    const std::size_t size = std::size_t{2} << 20;
    const int flags = MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT);
    // mmap(2) without MAP_NORESERVE reserves huge pages. Without free ones it fails here, and no SIGBUS comes later.
    if (void* const probe = mmap(nullptr, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0);
        probe == MAP_FAILED) {
        zdtm::skip("no free huge pages (sysctl vm.nr_hugepages)");
    } else {
        SYS(munmap(probe, 3 * size));
    }
    const std::span<std::byte> own = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags);
    const std::span<std::byte> shared = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_SHARED | flags);
    zdtm::fill(own, 1);
    zdtm::fill(shared, 2);
    me.wait_for_check();

    CHECK(zdtm::first_difference(own, 1) < 0, "private data changed");
    CHECK(zdtm::first_difference(shared, 2) < 0, "shared data changed");
    CHECK(zdtm::has_vm_flag(own.data(), "ht") && zdtm::has_vm_flag(shared.data(), "ht"), "not huge pages any more");
}
