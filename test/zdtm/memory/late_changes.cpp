// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also map-pages-again, map-pages-many, supplier-killed, lazy-killed, content-cut, tls-page-server, remote-lazy-pages, encrypted-lazy, encrypted-remote-lazy, encrypted-stored-lazy, supply-cut, stored-lazy-pages
// zdtm: own-pids yes
// zdtm: timeout 120
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "zdtm.hpp"

namespace {

constexpr std::size_t kPart = std::size_t{8} << 20;
constexpr std::size_t kParts = 12;

using Bytes = std::span<std::byte>;

std::uint64_t word(std::size_t part, std::size_t index) {
    return (part * 0x1000000 + index) * 0x9e3779b97f4a7c15U;
}

void fill(Bytes bytes, std::size_t part) {
    for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
        const std::uint64_t value = word(part, i);
        std::memcpy(&bytes[i * 8], &value, 8);
    }
}

// Returns the offset of the first byte that differs from the content of a part; -1 if there is none. `begin` is the
// offset of the bytes in the part.
std::ptrdiff_t difference(Bytes bytes, std::size_t part, std::size_t begin = 0) {
    for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, &bytes[i * 8], 8);
        if (value != word(part, begin / 8 + i))
            return static_cast<std::ptrdiff_t>(i * 8);
    }
    return -1;
}

bool is_zero(Bytes bytes) {
    for (const std::byte byte : bytes)
        if (byte != std::byte{})
            return false;
    return true;
}

}  // namespace

ZDTM("mappings are moved, split, discarded and inherited as soon as the process runs again") {
    const std::size_t page = zdtm::page_size();
    std::array<Bytes, kParts> parts;
    for (std::size_t i = 0; i < kParts; ++i) {
        parts[i] = zdtm::map(kPart);
        // The last page of a part has another protection, so each part is a mapping of its own.
        SYS(mprotect(parts[i].data() + kPart - page, page, PROT_READ));
        fill(parts[i].first(kPart - page), i);
    }
    const std::size_t size = kPart - page;
    // Discards every second page, so that criu gets many short runs.
    for (std::size_t at = 0; at < size; at += 2 * page)
        SYS(madvise(&parts[8][at], page, MADV_DONTNEED));
    me.wait_for_check();

    // The child inherits the mappings before lazy pages have come.
    const pid_t child = SYS(fork());
    if (child == 0) {
        SYS(madvise(parts[0].data(), size / 2, MADV_DONTNEED));
        const bool right = difference(parts[1].first(size), 1) < 0 && difference(parts[2].first(size), 2) < 0 &&
                           is_zero(parts[0].first(size / 2));
        _exit(right ? 0 : 1);
    }

    // Several threads touch lazy pages at once.
    std::array<std::ptrdiff_t, 3> wrong{};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < wrong.size(); ++i)
        threads.emplace_back([&, i] { wrong[i] = difference(parts[9 + i].first(size), 9 + i); });

    // Moves mappings, one as a whole and one in part.
    const Bytes target = zdtm::map(kPart);
    void* const moved =
        mremap(parts[3].data(), size, size, MREMAP_MAYMOVE | MREMAP_FIXED, static_cast<void*>(target.data()));
    CHECK(moved == target.data(), "mremap: %s", strerror(errno));
    CHECK(difference(target.first(size), 3) < 0, "the moved memory changed");
    const Bytes place = zdtm::map(size / 2 & ~(page - 1));
    CHECK(mremap(&parts[4][page], place.size(), place.size(), MREMAP_MAYMOVE | MREMAP_FIXED,
                 static_cast<void*>(place.data())) == place.data(),
          "mremap of a part: %s", strerror(errno));
    CHECK(difference(place, 4, page) < 0, "the moved part changed");
    CHECK(difference(parts[4].first(page), 4) < 0, "what lay before the moved part changed");

    // Unmaps the middle of a mapping and maps new memory there.
    SYS(munmap(&parts[5][16 * page], 64 * page));
    CHECK(mmap(&parts[5][16 * page], 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == &parts[5][16 * page],
          "mmap: %s", strerror(errno));
    CHECK(is_zero(parts[5].subspan(16 * page, 64 * page)), "new memory has old content");
    CHECK(difference(parts[5].first(16 * page), 5) < 0, "what lies before the gap changed");
    CHECK(difference(parts[5].subspan(80 * page, size - 80 * page), 5, 80 * page) < 0,
          "what lies behind the gap changed");

    // Discarded pages must read as zeroes, also later.
    SYS(madvise(&parts[6][32 * page], size / 2 & ~(page - 1), MADV_DONTNEED));
    const Bytes given = parts[6].subspan(32 * page, size / 2 & ~(page - 1));
    CHECK(is_zero(given), "discarded pages have their content again");
    CHECK(difference(parts[6].first(32 * page), 6) < 0, "pages beside discarded ones changed");

    // Splits a mapping by protections. A system call then reads untouched memory.
    SYS(mprotect(&parts[7][8 * page], 8 * page, PROT_READ));
    const int file = SYS(open("content", O_RDWR | O_CREAT | O_TRUNC, 0600));
    CHECK(write(file, parts[7].data(), size) == static_cast<ssize_t>(size), "write: %s", strerror(errno));
    std::vector<std::byte> read_back(size);
    CHECK(pread(file, read_back.data(), size, 0) == static_cast<ssize_t>(size), "read: %s", strerror(errno));
    CHECK(difference(read_back, 7) < 0, "a system call has read other content");
    SYS(close(file));
    SYS(unlink("content"));

    for (std::size_t at = 0; at + page <= size; at += page) {
        const Bytes piece = parts[8].subspan(at, page);
        if (at / page % 2 == 0)
            CHECK(is_zero(piece), "a page that was missing has content at %zu", at);
        else
            CHECK(difference(piece, 8, at) < 0, "a short run changed at %zu", at);
    }

    for (std::thread& thread : threads)
        thread.join();
    for (std::size_t i = 0; i < wrong.size(); ++i)
        CHECK(wrong[i] < 0, "part %zu changed at %td", 9 + i, wrong[i]);
    int status = 0;
    SYS(waitpid(child, &status, 0));
    CHECK(status == 0, "the child ended with %#x: its memory is another", status);
    CHECK(difference(parts[0].first(size), 0) < 0, "what the child gave up changed here");
    CHECK(is_zero(given), "discarded pages have their content again after a while");
}
