// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("2,000 mappings of alternating protection keep borders and content") {
    const std::size_t page = zdtm::page_size();
    const std::size_t count = 2000;
    const std::span<std::byte> memory = zdtm::map(count * page);
    for (std::size_t i = 0; i < count; ++i) {
        memory[i * page] = static_cast<std::byte>(i);
        memory[i * page + page - 1] = static_cast<std::byte>(i >> 8);
        if (i % 2 == 1) {
            SYS(mprotect(&memory[i * page], page, PROT_READ));
        }
    }
    const std::span<std::byte> islands = zdtm::map(400 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    for (std::size_t i = 0; i < 200; ++i) {
        islands[2 * i * page] = static_cast<std::byte>(i);
        SYS(munmap(&islands[(2 * i + 1) * page], page));
    }
    me.wait_for_check();

    for (std::size_t i = 0; i < count; ++i) {
        CHECK(memory[i * page] == static_cast<std::byte>(i) &&
                  memory[i * page + page - 1] == static_cast<std::byte>(i >> 8),
              "page %zu changed", i);
    }
    for (std::size_t i = 0; i < 200; ++i) {
        CHECK(islands[2 * i * page] == static_cast<std::byte>(i), "island %zu changed", i);
    }
}
