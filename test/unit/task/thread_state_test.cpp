// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/thread_state.hpp"

#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <array>

#include "criu/base/error.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

using namespace criu;
using namespace criu::task;

namespace {

VmaEntry mapping(std::uint64_t start, std::uint64_t end, int protection, int flags) {
    VmaEntry vma = VMA_ENTRY__INIT;
    vma.start = start;
    vma.end = end;
    vma.prot = static_cast<std::uint32_t>(protection);
    vma.flags = static_cast<std::uint32_t>(flags);
    return vma;
}

}  // namespace

TEST_CASE("the area of restartable sequences has to be the process' own writable memory") {
    VmaEntry readable = mapping(0x10000, 0x11000, PROT_READ, MAP_PRIVATE);
    VmaEntry own = mapping(0x20000, 0x22000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    VmaEntry shared = mapping(0x30000, 0x31000, PROT_READ | PROT_WRITE, MAP_SHARED);
    std::array vmas{&readable, &own, &shared};
    MmEntry mm = MM_ENTRY__INIT;
    mm.vmas = vmas.data();
    mm.n_vmas = vmas.size();
    RseqEntry area = RSEQ_ENTRY__INIT;
    area.rseq_abi_size = 32;
    ThreadCoreEntry thread = THREAD_CORE_ENTRY__INIT;
    CHECK_NOTHROW(requireOwnRseq(thread, mm));
    thread.rseq_entry = &area;
    CHECK_NOTHROW(requireOwnRseq(thread, mm));  // none was registered
    const auto at = [&](std::uint64_t address) { area.rseq_abi_pointer = address; };
    for (const std::uint64_t good : {0x20000, 0x21020, 0x21fe0}) {
        at(good);
        CHECK_NOTHROW(requireOwnRseq(thread, mm));
    }
    // For example addresses of criu's own code and data.
    for (const std::uint64_t bad : {0x10000, 0x1ffe0, 0x21ff0, 0x22000, 0x30000, 0x10000000}) {
        at(bad);
        CHECK_THROWS_AS(requireOwnRseq(thread, mm), Error);
    }
}
