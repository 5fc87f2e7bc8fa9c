// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("mappings that mremap(2) has moved, shrunk and grown") {
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> first = zdtm::map(16 * page);
    zdtm::fill(first, 1);
    const std::span<std::byte> target = zdtm::map(32 * page, PROT_NONE);
    void* const moved = mremap(&first[4 * page], 8 * page, 16 * page, MREMAP_MAYMOVE | MREMAP_FIXED, &target[8 * page]);
    CHECK(moved == &target[8 * page], "mremap: %s", strerror(errno));
    const std::span<std::byte> shared = zdtm::map(8 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    zdtm::fill(shared, 2);
    // mremap(2) with old size 0 maps the same shared memory a second time.
    void* const window = mremap(shared.data(), 0, 8 * page, MREMAP_MAYMOVE);
    CHECK(window != MAP_FAILED, "mremap: %s", strerror(errno));
    const std::span<std::byte> twin(static_cast<std::byte*>(window), 8 * page);
    const std::span<std::byte> expected = zdtm::map(16 * page);
    zdtm::fill(expected, 1);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(memcmp(&target[8 * page], &expected[4 * page], 8 * page) == 0, "the child's moved data changed");
    });
    me.wait_for_check();

    CHECK(memcmp(first.data(), expected.data(), 4 * page) == 0, "the first part changed");
    CHECK(memcmp(&target[8 * page], &expected[4 * page], 8 * page) == 0, "the moved part changed");
    CHECK(target[20 * page] == std::byte{}, "the grown part is not zero");
    CHECK(memcmp(&first[12 * page], &expected[12 * page], 4 * page) == 0, "the last part changed");
    CHECK(zdtm::first_difference(twin, 2) < 0, "the window's data changed");
    twin[0] = std::byte{9};
    CHECK(shared[0] == std::byte{9}, "the two windows don't show the same memory");
    me.finish(child);
}
