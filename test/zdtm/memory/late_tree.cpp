// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, encrypted-lazy, encrypted-remote-lazy, lazy-pages, remote-lazy-pages, stored-lazy-pages, supply-cut, lazy-killed
// zdtm: own-pids yes
#include <vector>

#include "zdtm.hpp"

ZDTM("a tree of processes with little memory, some of it their own and some inherited from the parent") {
    constexpr unsigned kChildren = 6;  // enough for several threads of criu
    constexpr std::size_t kInherited = 16;
    constexpr std::size_t kOwn = 256;
    // A mapping has no lazy pages if it shares any page with a relative. The kernel merges neighbours of equal
    // protection, also with mappings of the C library. Pages without access separate these mappings.
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> all = zdtm::map((kInherited + kOwn + 3) * page, PROT_NONE);
    const std::span<std::byte> inherited = all.subspan(page, kInherited * page);
    const std::span<std::byte> own = all.subspan((kInherited + 2) * page, kOwn * page);
    for (const std::span<std::byte> part : {inherited, own})
        SYS(mprotect(part.data(), part.size(), PROT_READ | PROT_WRITE));
    zdtm::fill(inherited, 1000);
    std::vector<pid_t> children;
    for (unsigned i = 0; i < kChildren; ++i) {
        children.push_back(me.start_child([&, i](zdtm::Task& task) {
            zdtm::fill(own, i);
            task.wait_for_check();
            CHECK(zdtm::first_difference(own, i) < 0, "child %u has other memory", i);
            CHECK(zdtm::first_difference(inherited, 1000) < 0, "child %u has inherited other memory", i);
        }));
    }
    me.wait_for_check();
    CHECK(zdtm::first_difference(inherited, 1000) < 0, "the memory that children have inherited changed");
    for (const pid_t child : children)
        me.finish(child);
}
