// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
#include <vector>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("io_uring: many rings among many mappings and gaps get their addresses back") {
    std::vector<zdtm::Ring> rings;
    std::vector<std::span<std::byte>> others;
    rings.reserve(12);
    for (unsigned i = 0; i < 12; ++i) {
        rings.emplace_back(1U << (i % 8));
        for (unsigned k = 0; k < 20; ++k) {
            others.push_back(zdtm::map(zdtm::page_size() * (1 + k % 3)));
        }
        rings.back().spin(i * 3);
    }
    // Makes gaps of all sizes below and above the rings.
    for (std::size_t i = 0; i < others.size(); i += 2) {
        SYS(munmap(others[i].data(), others[i].size()));
    }
    for (std::size_t i = 1; i < others.size(); i += 2) {
        zdtm::fill(others[i], i);
    }
    me.wait_for_check();

    for (std::size_t i = 1; i < others.size(); i += 2) {
        CHECK(zdtm::first_difference(others[i], i) < 0, "mapping %zu", i);
    }
    for (zdtm::Ring& ring : rings) {
        ring.spin(30);
    }
}
