// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five
// zdtm: not-in all-killed, dump-killed, restore-killed, restore-all-killed
#include <algorithm>
#include <vector>

#include "zdtm.hpp"

namespace {

// Maps addresses without using memory. Returns false if no such range is free.
bool fill(std::size_t size, std::vector<std::byte*>& filled) {
    void* const at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED)
        filled.push_back(static_cast<std::byte*>(at));
    return at != MAP_FAILED;
}

}  // namespace

ZDTM("a 32-bit program has only holes of 2 MiB left in its address space") {
    std::vector<std::byte*> filled;
    filled.reserve(1024);
    for (unsigned bits = 30; bits >= 21; --bits)
        while (fill(std::size_t{1} << bits, filled)) {
        }
    me.wait_for_check();
    CHECK(filled.size() > 2 && std::count(filled.begin(), filled.end(), nullptr) == 0, "nothing was filled");
}
