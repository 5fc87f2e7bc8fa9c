// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also encrypted, encrypted-chain, encrypted-chain-dumps, names-taken, encrypted-lazy, encrypted-page-server, encrypted-new-pidns, new-pidns, new-pidns-again, new-pidns-many, provided-again, provided-nothing, provider-fails, provider-nonsense, served-mapped, server-fails
#include "zdtm.hpp"

ZDTM("private anonymous memory keeps its content, zero pages and holes included") {
    const std::size_t size = 256 * zdtm::page_size();
    const std::span<std::byte> memory = zdtm::map(size);
    // One third has data, one third shows the zero page after reads, one third is untouched.
    const std::size_t third = 85 * zdtm::page_size();
    zdtm::fill(memory.first(third), 1);
    zdtm::touch(memory.subspan(third, third));
    me.wait_for_check();

    const ssize_t wrong = zdtm::first_difference(memory.first(third), 1);
    CHECK(wrong < 0, "byte %zd differs", wrong);
    for (std::size_t at = third; at < size; ++at) {
        CHECK(memory[at] == std::byte{}, "byte %zu is not zero", at);
    }
    // The memory must be writable after the restore, and keep new content.
    zdtm::fill(memory, 2);
    CHECK(zdtm::first_difference(memory, 2) < 0, "memory isn't writable any more");
}
