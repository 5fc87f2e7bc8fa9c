// SPDX-License-Identifier: GPL-2.0-only
#include "frames.hpp"
#include "zdtm.hpp"

namespace {

constexpr std::size_t kSize = std::size_t{256} << 10;

std::span<std::byte> map_plain(int seed) {
    const auto memory = zdtm::map(kSize);
    SYS(madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE));
    zdtm::fill(memory, seed);
    return memory;
}

void drop(std::span<std::byte> memory) {
    SYS(madvise(memory.data(), memory.size(), MADV_DONTNEED));
}

void check_empty(std::span<const std::byte> memory, const char* what) {
    for (const std::byte value : memory) {
        CHECK(value == std::byte{0}, "%s has %#x where nothing is", what, static_cast<unsigned>(value));
    }
}

}  // namespace

ZDTM("a process has pages alone where its relative has shared pages, no pages, or pages of its own") {
    // the first child writes these; the second shares the parent's pages
    const std::span<std::byte> rewritten = map_plain(1);
    // the first child discards these; the second shares the parent's pages
    const std::span<std::byte> emptied = map_plain(2);
    const std::span<std::byte> common = map_plain(3);   // all three processes share these
    const std::span<std::byte> parents = map_plain(4);  // each child has one page or none there
    if (zdtm::frame(common.data()) == 0) {
        zdtm::skip("page frame numbers are hidden");
    }
    struct Frames {
        std::uint64_t rewritten = 0;
        std::uint64_t emptied = 0;
        std::uint64_t common = 0;
    };
    const auto now = [&] {
        return Frames{zdtm::frame(rewritten.data()), zdtm::frame(emptied.data()), zdtm::frame(common.data())};
    };
    const std::span<std::byte> board =
        zdtm::map(2 * sizeof(Frames), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const seen = reinterpret_cast<Frames*>(board.data());

    const pid_t first = me.start_child([&](zdtm::Task& task) {
        zdtm::fill(rewritten, 11);
        drop(emptied);
        drop(parents);
        parents[kSize / 2] = std::byte{0xee};
        task.wait_for_check();
        CHECK(zdtm::first_difference(rewritten, 11) < 0, "the first child's own content");
        check_empty(emptied, "what the first child has emptied");
        CHECK(zdtm::first_difference(common, 3) < 0, "the first child's common content");
        CHECK(parents[kSize / 2] == std::byte{0xee}, "the first child's only page");
        parents[kSize / 2] = std::byte{0};
        check_empty(parents, "beside the first child's only page");
        seen[0] = now();
    });
    const pid_t second = me.start_child([&](zdtm::Task& task) {
        drop(parents);
        task.wait_for_check();
        CHECK(zdtm::first_difference(rewritten, 1) < 0, "the second child's content");
        CHECK(zdtm::first_difference(emptied, 2) < 0, "the second child's content where the first has none");
        CHECK(zdtm::first_difference(common, 3) < 0, "the second child's common content");
        check_empty(parents, "what the second child has emptied");
        seen[1] = now();
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(rewritten, 1) < 0 && zdtm::first_difference(emptied, 2) < 0 &&
              zdtm::first_difference(common, 3) < 0 && zdtm::first_difference(parents, 4) < 0,
          "the parent's content");
    me.finish(first);
    me.finish(second);
    const Frames mine = now();
    CHECK(seen[0].common == mine.common && seen[1].common == mine.common, "a page that all had isn't shared any more");
    CHECK(seen[1].rewritten == mine.rewritten && seen[1].emptied == mine.emptied,
          "pages that the second child shared with the parent aren't shared any more");
    CHECK(seen[0].rewritten != mine.rewritten, "a page that the first child had alone is the parent's");
}
