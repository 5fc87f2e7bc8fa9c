// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("a private page of a child that equals its file, whose page the parent sees") {
    const std::size_t page = zdtm::page_size();
    const std::size_t size = 4 * page;
    const std::vector<std::byte> content(size, std::byte{7});
    const int file = SYS(open("file", O_RDWR | O_CREAT, 0600));
    SYS(write(file, content.data(), size));
    void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(mapped != MAP_FAILED, "%s", strerror(errno));
    auto* const memory = static_cast<volatile unsigned char*>(mapped);
    memory[0] = 1;
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        memory[2 * page] = 7;
        memory[3 * page] = 8;
        task.wait_for_check();
        SYS(pwrite(file, "\x09", 1, static_cast<off_t>(2 * page)));
        CHECK(memory[0] == 1 && memory[3 * page] == 8, "%d, %d", memory[0], memory[3 * page]);
        CHECK(memory[2 * page] == 7, "the private page has become a page of the file: %d", memory[2 * page]);
    });
    me.wait_for_check();
    CHECK(memory[0] == 1 && memory[3 * page] == 7, "%d, %d", memory[0], memory[3 * page]);
    me.finish(child);
}
