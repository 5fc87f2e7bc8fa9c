// SPDX-License-Identifier: GPL-2.0-only
#include <sys/resource.h>

#include "zdtm.hpp"

ZDTM("a process whose private memory has reached RLIMIT_DATA") {
    constexpr std::size_t size = 1U << 20;
    auto* const memory =
        static_cast<char*>(SYS(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    std::memset(memory, 7, size);
    const rlimit limit{4096, 4096};
    SYS(setrlimit(RLIMIT_DATA, &limit));

    me.wait_for_check();

    rlimit now{};
    SYS(getrlimit(RLIMIT_DATA, &now));
    CHECK(now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max, "%llu, %llu",
          static_cast<unsigned long long>(now.rlim_cur), static_cast<unsigned long long>(now.rlim_max));
    for (std::size_t at = 0; at < size; ++at)
        CHECK(memory[at] == 7, "%d at %zu", memory[at], at);
    CHECK(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
          "the limit has no effect");
}
