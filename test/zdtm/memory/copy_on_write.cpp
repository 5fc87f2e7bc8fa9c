// SPDX-License-Identifier: GPL-2.0-only
#include "frames.hpp"
#include "zdtm.hpp"

ZDTM("a parent and its children still share copy-on-write pages after the restore, and only these") {
    const std::size_t page = zdtm::page_size();
    const std::size_t pages = 64;
    const std::span<std::byte> memory = zdtm::map(pages * page);
    SYS(madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE));
    zdtm::fill(memory, 1);
    if (zdtm::frame(memory.data()) == 0) {
        zdtm::skip("page frame numbers are hidden");
    }
    struct Report {
        std::uint64_t frames[pages];
    };
    const std::span<std::byte> shared =
        zdtm::map(2 * sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const reports = reinterpret_cast<Report*>(shared.data());
    pid_t children[2];
    for (unsigned i = 0; i < 2; ++i) {
        children[i] = me.start_child([&](zdtm::Task& task) {
            memory[i * page] = std::byte{0xee};
            task.wait_for_check();
            CHECK(memory[i * page] == std::byte{0xee}, "the child's own page is lost");
            for (std::size_t k = 0; k < pages; ++k) {
                reports[i].frames[k] = zdtm::frame(&memory[k * page]);
            }
        });
    }
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    for (unsigned i = 0; i < 2; ++i) {
        me.finish(children[i]);
        unsigned common = 0;
        for (std::size_t k = 0; k < pages; ++k) {
            common += reports[i].frames[k] == zdtm::frame(&memory[k * page]) ? 1U : 0U;
        }
        CHECK(common == pages - 1, "child %u shares %u pages instead of %zu", i, common, pages - 1);
    }
}
