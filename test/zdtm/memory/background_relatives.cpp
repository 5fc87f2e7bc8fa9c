// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, background
#include <sys/mman.h>

#include "frames.hpp"
#include "zdtm.hpp"

ZDTM("large processes that share pages copy-on-write still share them after a restore") {
    constexpr std::size_t kMuch = std::size_t{40} << 20;
    const std::span<std::byte> memory = zdtm::map(kMuch);
    SYS(madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE));
    zdtm::fill(memory, 1);
    if (zdtm::frame(memory.data()) == 0) {
        zdtm::skip("page frame numbers are hidden");
    }
    const std::span<std::byte> shared =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const seen = reinterpret_cast<std::uint64_t*>(shared.data());
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(zdtm::first_difference(memory, 1) < 0, "the child's data changed");
        *seen = zdtm::frame(memory.data());
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    me.finish(child);
    CHECK(*seen == zdtm::frame(memory.data()), "the child has pages of its own");
}
