// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also map-pages-again
// zdtm: ignore tree, .*
#include <fcntl.h>
#include <sys/wait.h>

#include <random>
#include <vector>

#include "zdtm.hpp"

namespace {

constexpr std::size_t kPages = 256;
constexpr std::uint64_t kUntouched = 0;  // page that reads as zeroes or as the file

// Memory and the expected content of each page.
struct Area {
    std::span<std::byte> memory;
    std::vector<std::uint64_t> seeds = std::vector<std::uint64_t>(kPages, kUntouched);
    std::span<const std::byte> below = {};  // content of untouched pages; zeroes if empty

    [[nodiscard]] std::span<std::byte> page(std::size_t number) const {
        return memory.subspan(number * zdtm::page_size(), zdtm::page_size());
    }
    void write(std::size_t number, std::uint64_t seed) {
        seeds[number] = seed;
        zdtm::fill(page(number), seed);
    }
    void drop(std::size_t number) {
        seeds[number] = kUntouched;
        SYS(madvise(page(number).data(), zdtm::page_size(), MADV_DONTNEED));
    }
    void replace(std::size_t number) {
        seeds[number] = kUntouched;
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0,
                  page(number).data());
    }
    void check(const char* name) const {
        for (std::size_t i = 0; i < kPages; ++i) {
            if (seeds[i] != kUntouched) {
                CHECK(zdtm::first_difference(page(i), seeds[i]) < 0, "page %zu of %s is an old one", i, name);
                continue;
            }
            for (std::size_t at = 0; at < zdtm::page_size(); ++at) {
                const std::byte wanted = below.empty() ? std::byte{} : below[i * zdtm::page_size() + at];
                CHECK(page(i)[at] == wanted, "page %zu of %s isn't untouched", i, name);
            }
        }
    }
};

struct State {
    Area plain;
    Area moved;
    Area file;
    Area heap;

    void check() const {
        plain.check("anonymous memory");
        moved.check("memory that moves");
        file.check("a private file mapping");
        heap.check("the heap");
    }
};

// Forks a child that checks the inherited memory and writes to it. The parent must not see these writes.
void fork_writer(State& state) {
    const pid_t child = SYS(fork());
    if (child == 0) {
        state.check();
        for (std::size_t i = 0; i < kPages; i += 3) {
            state.plain.write(i, 77);
        }
        state.check();
        _exit(0);
    }
    CHECK(zdtm::wait_status(child) == 0, "the child saw something else");
}

void step(State& state, std::mt19937& random, std::uint64_t seed) {
    const std::size_t page = random() % kPages;
    const std::size_t size = zdtm::page_size();
    switch (random() % 64) {
        case 0:
            return fork_writer(state);
        case 1: {  // moved to a free address by way of another one
            void* const to = zdtm::map(kPages * size, PROT_NONE).data();
            void* const at =
                mremap(state.moved.memory.data(), kPages * size, kPages * size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
            CHECK(at == to, "mremap: %s", strerror(errno));
            state.moved.memory = {static_cast<std::byte*>(at), kPages * size};
            return;
        }
        case 2:
            return state.plain.replace(page);
        case 3:
            SYS(mprotect(state.plain.page(page).data(), size, PROT_READ));
            SYS(mprotect(state.plain.page(page).data(), size, PROT_READ | PROT_WRITE));
            return state.plain.write(page, seed);
        case 4:
            SYS(mprotect(state.file.page(page).data(), size, PROT_NONE));
            SYS(mprotect(state.file.page(page).data(), size, PROT_READ | PROT_WRITE));
            return;
        case 5: {  // written by the kernel
            state.plain.write(page, seed);
            std::vector<std::byte> text(size);
            zdtm::fill(text, seed + 1);
            const int copy = SYS(memfd_create("copy", MFD_CLOEXEC));
            SYS(write(copy, text.data(), size));
            CHECK(pread(copy, state.plain.page(page).data(), size, 0) == static_cast<ssize_t>(size), "pread");
            SYS(close(copy));
            state.plain.seeds[page] = seed + 1;
            return;
        }
        default:
            break;
    }
    Area* const areas[] = {&state.plain, &state.moved, &state.file, &state.heap};
    Area& area = *areas[random() % 4];
    if (random() % 4 == 0)
        area.drop(page);
    else
        area.write(page, seed);
}

}  // namespace

ZDTM("memory that is written, discarded, moved, replaced and inherited all the time never shows old content") {
    const std::size_t size = kPages * zdtm::page_size();
    State state;
    state.plain.memory = zdtm::map(size);
    state.moved.memory = zdtm::map(size);
    const std::span<std::byte> text = zdtm::map(size);
    zdtm::fill(text, 5);
    zdtm::write_file("data", std::string(reinterpret_cast<const char*>(text.data()), size));
    const int file = SYS(open("data", O_RDWR));
    state.file.memory = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
    state.file.below = text;
    const std::size_t gap = zdtm::page_size() - reinterpret_cast<std::uintptr_t>(sbrk(0)) % zdtm::page_size();
    sbrk(static_cast<intptr_t>(gap));
    void* const heap = sbrk(static_cast<intptr_t>(size));
    CHECK(heap != reinterpret_cast<void*>(-1), "%s", strerror(errno));
    state.heap.memory = {static_cast<std::byte*>(heap), size};
    std::mt19937 random(1);
    std::uint64_t seed = 100;
    for (int i = 0; i < 1000; ++i) {
        step(state, random, seed += 2);
    }
    me.ready();
    while (!me.triggered()) {
        for (int i = 0; i < 4; ++i) {
            step(state, random, seed += 2);
        }
        usleep(300);
    }
    state.check();
}
