// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore tree, .*
// zdtm: modes once, five, leave-running, pre-dump, page-server, background
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <vector>

#include "zdtm.hpp"

namespace {

const std::size_t page_size = zdtm::page_size();

// A mapping and the seed of each of its pages. Seed 0 stands for zeroes.
struct Area {
    std::span<std::byte> bytes;
    std::vector<std::uint32_t> seeds;
};

class Memory {
public:
    // Makes one random change: writes, discards, moves, maps or unmaps pages.
    void change() {
        constexpr std::size_t kMost = 12;
        const std::size_t what = pick(10000);
        if (areas_.empty() || (what < 40 && areas_.size() < kMost))
            add();
        else if (what < 60)
            remove(any());
        else if (what < 80)
            move(any());
        else if (what < 100)
            replace(any());
        else if (what < 500)
            give_up(any());
        else if (what < 700)
            protect(any());
        else
            write(any());
    }

    void check() const {
        for (const Area& area : areas_)
            for (std::size_t page = 0; page < area.seeds.size(); ++page)
                check(area, page);
    }
    void check_some() {
        const Area& area = areas_[any()];
        check(area, pick(area.seeds.size()));
    }

private:
    using Words = std::vector<std::uint32_t>;

    std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
    std::size_t any() { return pick(areas_.size()); }

    static Words content(std::uint32_t seed) {
        Words words(page_size / sizeof(std::uint32_t));
        if (seed != 0)
            for (std::size_t i = 0; i < words.size(); ++i)
                words[i] = seed * 2654435761U + static_cast<std::uint32_t>(i);
        return words;
    }

    static void check(const Area& area, std::size_t page) {
        const Words wanted = content(area.seeds[page]);
        CHECK(std::memcmp(&area.bytes[page * page_size], wanted.data(), page_size) == 0,
              "page %zu of the %zu at %p lacks the content of number %u", page, area.seeds.size(),
              static_cast<void*>(area.bytes.data()), area.seeds[page]);
    }

    void write_page(Area& area, std::size_t page) {
        const std::uint32_t seed = ++last_;
        const Words words = content(seed);
        std::memcpy(&area.bytes[page * page_size], words.data(), page_size);
        area.seeds[page] = seed;
    }

    void add() {
        constexpr std::size_t kSizes[] = {1, 16, 100, 600, 1500};
        const std::size_t pages = kSizes[pick(std::size(kSizes))];
        Area area{zdtm::map(pages * page_size), std::vector<std::uint32_t>(pages)};
        for (std::size_t page = 0; page < pages; ++page)
            if (pick(4) != 0)
                write_page(area, page);
        areas_.push_back(std::move(area));
    }

    void remove(std::size_t at) {
        SYS(munmap(areas_[at].bytes.data(), areas_[at].bytes.size()));
        areas_.erase(areas_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    struct Piece {
        std::size_t first;
        std::size_t count;
    };
    Piece piece(const Area& area) {
        const std::size_t first = pick(area.seeds.size());
        return {first, 1 + pick(std::min<std::size_t>(area.seeds.size() - first, 40))};
    }
    static void forget(Area& area, const Piece& piece) {
        for (std::size_t page = piece.first; page < piece.first + piece.count; ++page)
            area.seeds[page] = 0;
    }

    void give_up(std::size_t at) {
        Area& area = areas_[at];
        const Piece part = piece(area);
        SYS(madvise(&area.bytes[part.first * page_size], part.count * page_size, MADV_DONTNEED));
        forget(area, part);
    }

    void move(std::size_t at) {
        Area& area = areas_[at];
        const std::span<std::byte> target = zdtm::map(area.bytes.size());
        void* const moved = mremap(area.bytes.data(), area.bytes.size(), area.bytes.size(),
                                   MREMAP_MAYMOVE | MREMAP_FIXED, static_cast<void*>(target.data()));
        CHECK(moved == target.data(), "mremap: %s", strerror(errno));
        area.bytes = target;
    }

    // Replaces all of a mapping by a new one at the same address.
    void replace(std::size_t at) {
        Area& area = areas_[at];
        CHECK(mmap(area.bytes.data(), area.bytes.size(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area.bytes.data(),
              "mmap: %s", strerror(errno));
        forget(area, {0, area.seeds.size()});
        write_page(area, pick(area.seeds.size()));
    }

    void protect(std::size_t at) {
        Area& area = areas_[at];
        const Piece part = piece(area);
        std::byte* const begin = &area.bytes[part.first * page_size];
        SYS(mprotect(begin, part.count * page_size, PROT_READ));
        check(area, part.first);
        SYS(mprotect(begin, part.count * page_size, PROT_READ | PROT_WRITE));
    }

    void write(std::size_t at) { write_page(areas_[at], pick(areas_[at].seeds.size())); }

    std::mt19937 random_{std::random_device{}()};
    std::vector<Area> areas_;
    std::uint32_t last_ = 0;
};

}  // namespace

ZDTM("pages that are written, discarded, moved and mapped between pre-dumps have the content of the last dump") {
    Memory memory;
    for (int i = 0; i < 3000; ++i)
        memory.change();
    me.ready();
    while (!me.triggered()) {
        for (int i = 0; i < 20; ++i)
            memory.change();
        memory.check_some();
        usleep(3000);
    }
    memory.check();
}
