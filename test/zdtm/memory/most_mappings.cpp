// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: not-in dump-killed, clones-killed
#include <fstream>

#include "zdtm.hpp"

namespace {

std::size_t allowed() {
    std::size_t count = 0;
    std::ifstream("/proc/sys/vm/max_map_count") >> count;
    return count;
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        ++count;
    return count;
}

}  // namespace

ZDTM("processes with nearly as many mappings as a process may have (vm.max_map_count) keep them") {
    const std::size_t most = allowed();
    if (most > 200'000)
        zdtm::skip("vm.max_map_count is %zu", most);
    constexpr std::size_t kFree = 20;
    const std::size_t page = zdtm::page_size();
    const auto fill_up = [&](zdtm::Task& task, bool all_written) {
        const std::span<std::byte> memory = zdtm::map(most * page);
        std::size_t count = 0;
        if (all_written)
            for (std::size_t i = 0; i < most; ++i)
                memory[i * page] = static_cast<std::byte>(i);
        while (mappings() + 2 <= most - kFree) {
            // Each of them splits a mapping in three, which is cheaper than to count after each.
            const std::size_t left = (most - kFree - mappings()) / 2;
            for (std::size_t i = 0; i < left; ++i) {
                std::byte& first = memory[(2 * (count + i) + 1) * page];
                first = static_cast<std::byte>(2 * (count + i) + 1);
                SYS(mprotect(&first, page, PROT_READ));
            }
            count += left;
        }
        const std::size_t before = mappings();
        task.wait_for_check();
        CHECK(mappings() == before, "%zu mappings, not %zu", mappings(), before);
        for (std::size_t i = 0; i < most; ++i) {
            const bool written = all_written || (i % 2 == 1 && i < 2 * count);
            const std::byte wanted = written ? static_cast<std::byte>(i) : std::byte{0};
            CHECK(memory[i * page] == wanted, "page %zu has %d", i, static_cast<int>(memory[i * page]));
        }
    };
    const pid_t written = me.start_child([&](zdtm::Task& task) { fill_up(task, true); });
    const pid_t half_written = me.start_child([&](zdtm::Task& task) { fill_up(task, false); });
    me.wait_for_check();
    me.finish(written);
    me.finish(half_written);
}
