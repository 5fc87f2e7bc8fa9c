// SPDX-License-Identifier: GPL-2.0-only
#include "frames.hpp"
#include "zdtm.hpp"

namespace {

constexpr std::size_t kSize = std::size_t{8} << 20;

}  // namespace

ZDTM("a child's large memory: other content than the parent's, half of it different, and holes") {
    const auto map_plain = [] {
        const auto memory = zdtm::map(kSize);
        SYS(madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE));
        return memory;
    };
    const std::span<std::byte> other = map_plain();
    const std::span<std::byte> half = map_plain();
    const std::span<std::byte> holes = map_plain();
    zdtm::fill(other, 1);
    zdtm::fill(half, 2);
    zdtm::fill(holes, 3);
    if (zdtm::frame(half.data()) == 0) {
        zdtm::skip("page frame numbers are hidden");
    }
    const std::span<std::byte> report =
        zdtm::map(sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const std::byte* const last = &half[kSize - zdtm::page_size()];
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        zdtm::fill(other, 11);
        zdtm::fill(half.first(kSize / 2), 12);
        // The child discards the second half and rewrites the first half.
        zdtm::fill(holes.first(kSize / 2), 13);
        SYS(madvise(holes.data() + kSize / 2, kSize / 2, MADV_DONTNEED));
        task.wait_for_check();
        CHECK(zdtm::first_difference(other, 11) < 0, "other content");
        CHECK(zdtm::first_difference(half.first(kSize / 2), 12) < 0, "the own half");
        CHECK(zdtm::first_difference(holes.first(kSize / 2), 13) < 0, "beside holes");
        for (std::size_t at = kSize / 2; at < kSize; ++at) {
            CHECK(holes[at] == std::byte{0}, "a hole has %#x", static_cast<unsigned>(holes[at]));
        }
        const std::uint64_t found = zdtm::frame(last);
        std::memcpy(report.data(), &found, sizeof(found));
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(other, 1) < 0, "the parent's content");
    CHECK(zdtm::first_difference(half, 2) < 0, "the parent's halves");
    CHECK(zdtm::first_difference(holes, 3) < 0, "the parent's, where the child has holes");
    me.finish(child);
    std::uint64_t found = 0;
    std::memcpy(&found, report.data(), sizeof(found));
    CHECK(found != 0 && found == zdtm::frame(last), "a page that both had isn't shared any more");
}
