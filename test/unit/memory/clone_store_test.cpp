// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/clones/clone_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "criu/base/mapping.hpp"
#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Content in which each byte is the number of its page.
class Counted final : public PageContent {
public:
    void read(std::uint64_t position, std::span<iovec> targets) const override {
        for (const iovec& target : targets)
            for (std::size_t at = 0; at < target.iov_len; ++at)
                static_cast<char*>(target.iov_base)[at] =
                    static_cast<char>('a' + static_cast<int>((position + at) / 4096));
    }
    [[nodiscard]] std::string where(std::uint64_t) const override { return "nowhere"; }
};

/// Layer with pages 0 and 1 from 0x100000 on, and the page 2 MiB behind them.
class Layer final : public PageLayer {
public:
    [[nodiscard]] std::span<const PagemapRange> ranges() const override { return ranges_; }
    [[nodiscard]] std::unique_ptr<PageContent> open() const override { return std::make_unique<Counted>(); }

private:
    static constexpr auto kLate = PageFlags::Present | PageFlags::Lazy;
    std::vector<PagemapRange> ranges_{{0x100000, 2, kLate, 0}, {0x300000, 1, kLate, 8192}};
};

/// Process with one private mapping, of which the layer has pages.
struct OneMapping {
    OneMapping() {
        vma.start = 0x100000;
        vma.end = 0x400000;
        vma.flags = MAP_PRIVATE | MAP_ANONYMOUS;
        vma.status = VmaStatus::Regular | VmaStatus::AnonPrivate;
        mm.n_vmas = vmas.size();
        mm.vmas = vmas.data();
    }
    OneMapping(const OneMapping&) = delete;
    OneMapping& operator=(const OneMapping&) = delete;

    VmaEntry vma = VMA_ENTRY__INIT;
    std::array<VmaEntry*, 1> vmas{&vma};
    MmEntry mm = MM_ENTRY__INIT;
};

PageSource source() {
    std::vector<std::unique_ptr<const PageLayer>> layers;
    layers.push_back(std::make_unique<Layer>());
    return PageSource(std::move(layers));
}

std::string firstBytes(int file, std::uint64_t offset) {
    std::string text(2, '\0');
    REQUIRE(::pread(file, text.data(), text.size(), static_cast<off_t>(offset)) == 2);
    return text;
}

}  // namespace

TEST_CASE("the shared-pages file has a page at its address behind its process' start, once a clone needs it") {
    OneMapping memory;
    const PageSource pages = source();
    const auto content = std::make_shared<const LazyContent>(pages, MemoryObject::process(TreePid(7)), nullptr);

    CloneStore store(2);
    store.add(1, pages, LazyAreas(memory.mm, EagerMemory(memory.mm)), content);
    store.seal();
    const std::uint64_t begin = kCloneSpan + 0x100000;
    CHECK(store.pagesOf(0).complete());
    CHECK(store.pagesOf(1).waitingBytes() == 3 * 4096);
    CHECK(firstBytes(store.fd(), begin) == std::string(2, '\0'));

    store.fill(begin + 4096, 4096);
    CHECK(firstBytes(store.fd(), begin) == "aa");
    CHECK(firstBytes(store.fd(), begin + 4096) == "bb");
    CHECK(firstBytes(store.fd(), begin + 0x200000) == std::string(2, '\0'));
    CHECK_THROWS_WITH(store.fill(begin - 4096, 4096), Catch::Contains("nothing at"));

    // No other process can write to it.
    CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, store.fd(), static_cast<off_t>(begin)) ==
          MAP_FAILED);
    CHECK(::ftruncate(store.fd(), 0) == -1);

    CHECK((::fcntl(store.fd(), F_GET_SEALS) & F_SEAL_SEAL) == 0);
    while (store.fillNext())
        ;
    store.complete();
    CHECK((::fcntl(store.fd(), F_GET_SEALS) & F_SEAL_SEAL) != 0);
    CHECK(firstBytes(store.fd(), begin + 0x200000) == "cc");
    // Ranges without content take no memory.
    CHECK(::lseek(store.fd(), static_cast<off_t>(begin + 2 * 4096), SEEK_DATA) == static_cast<off_t>(begin + 0x200000));
}

TEST_CASE("small mappings and ones that can't map a file aren't shared by clones") {
    OneMapping memory;
    CHECK(mappingsOfClones(memory.mm, source()).empty());

    struct Much final : PageLayer {
        [[nodiscard]] std::span<const PagemapRange> ranges() const override { return all; }
        [[nodiscard]] std::unique_ptr<PageContent> open() const override { return std::make_unique<Counted>(); }
        std::vector<PagemapRange> all{{0x100000, 16, PageFlags::Present | PageFlags::Lazy, 0}};
    };
    std::vector<std::unique_ptr<const PageLayer>> layers;
    layers.push_back(std::make_unique<Much>());
    const PageSource much(std::move(layers));
    CHECK(mappingsOfClones(memory.mm, much).size() == 1);
    for (const int advice : {MADV_WIPEONFORK, MADV_HUGEPAGE}) {
        memory.vma.has_madv = 1;
        memory.vma.madv = std::uint64_t{1} << advice;
        CHECK(mappingsOfClones(memory.mm, much).empty());
    }
    memory.vma.madv = 0;
    for (const unsigned flag : {MAP_GROWSDOWN, MAP_LOCKED, MAP_HUGETLB}) {
        memory.vma.flags = MAP_PRIVATE | MAP_ANONYMOUS | flag;
        CHECK(mappingsOfClones(memory.mm, much).empty());
    }
}

}  // namespace criu::memory
