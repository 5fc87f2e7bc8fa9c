// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "zdtm.hpp"

namespace {

constexpr std::size_t kSize = std::size_t{64} << 20;
constexpr std::size_t kStep = std::size_t{1} << 18;

}  // namespace

ZDTM("zero pages of a child in a private mapping of a large memfd, which its parent has, too") {
    const std::size_t page = zdtm::page_size();
    const int file = SYS(memfd_create("content", 0));
    SYS(ftruncate(file, kSize));
    void* const shared = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(shared != MAP_FAILED, "%s", strerror(errno));
    memset(shared, 7, kSize);
    SYS(munmap(shared, kSize));
    void* const mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(mapped != MAP_FAILED, "%s", strerror(errno));
    auto* const memory = static_cast<unsigned char*>(mapped);
    memset(memory, 1, page);
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        for (std::size_t at = kStep; at < kSize; at += kStep)
            memset(memory + at, 0, page);
        task.wait_for_check();
        // A restore must not compare the pages with a file that it hasn't filled yet.
        for (std::size_t at = kStep; at < kSize; at += kStep)
            CHECK(memory[at] == 0, "byte %zu is %d", at, memory[at]);
    });
    me.wait_for_check();
    me.finish(child);
}
