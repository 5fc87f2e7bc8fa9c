// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("256 MiB of private memory with zero pages and holes") {
    const std::size_t size = std::size_t{256} << 20;
    const std::size_t chunk = std::size_t{1} << 20;
    const std::span<std::byte> memory = zdtm::map(size);
    // Each 8 MiB: 5 MiB filled, 1 MiB written with zeroes, 2 MiB untouched.
    for (std::size_t at = 0; at < size; at += chunk) {
        const std::size_t turn = at / chunk % 8;
        if (turn < 5) {
            zdtm::fill(memory.subspan(at, chunk), at);
        } else if (turn == 5) {
            memset(&memory[at], 0, chunk);
        }
    }
    me.wait_for_check();

    const std::span<std::byte> zeroes = zdtm::map(chunk);
    for (std::size_t at = 0; at < size; at += chunk) {
        if (at / chunk % 8 < 5) {
            const ssize_t wrong = zdtm::first_difference(memory.subspan(at, chunk), at);
            CHECK(wrong < 0, "byte %zu differs", at + static_cast<std::size_t>(wrong));
        } else {
            CHECK(memcmp(&memory[at], zeroes.data(), chunk) == 0, "the MiB at %zu is not zero", at);
        }
    }
}
