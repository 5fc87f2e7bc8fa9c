// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM(
    "a shared file mapping writes to the file, read-only mappings show the file, and a mapping keeps its file offset") {
    const std::size_t page = zdtm::page_size();
    zdtm::write_file("data", std::string(4 * page, 'a'));
    const int file = SYS(open("data", O_RDWR));
    const std::span<std::byte> writable =
        zdtm::map(2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(page));
    SYS(close(file));
    const int readable = SYS(open("data", O_RDONLY));
    const std::span<std::byte> watcher = zdtm::map(4 * page, PROT_READ, MAP_SHARED, readable);
    SYS(close(readable));
    writable[0] = std::byte{'b'};
    me.wait_for_check();

    CHECK(watcher[page] == std::byte{'b'} && watcher[page + 1] == std::byte{'a'}, "the content changed");
    writable[page] = std::byte{'c'};
    CHECK(watcher[2 * page] == std::byte{'c'}, "the mappings don't show the same file");
    CHECK(zdtm::read_file("data")[2 * page] == 'c', "the write did not reach the file");
    CHECK(mprotect(watcher.data(), page, PROT_READ | PROT_WRITE) == -1 && errno == EACCES,
          "a mapping of a read-only file became writable");
}
