// SPDX-License-Identifier: GPL-2.0-only
#include "many_mappings.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "zdtm.hpp"

namespace zdtm {

void make_many_mappings() {
    constexpr std::size_t count = 20'000;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const start = mmap(nullptr, count * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED, "mmap: %m");
    for (std::size_t i = 0; i < count; i += 2) {
        SYS(mprotect(static_cast<char*>(start) + i * page, page, PROT_READ | PROT_WRITE));
    }
}

}  // namespace zdtm
