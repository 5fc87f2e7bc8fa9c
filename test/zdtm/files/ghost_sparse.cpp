// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --ghost-limit 16M
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a deleted sparse file of 4 GiB with a few MiB of data stays sparse") {
    const int file = SYS(open("gone", O_RDWR | O_CREAT, 0600));
    SYS(unlink("gone"));
    const std::span<std::byte> data = zdtm::map(std::size_t{1} << 20);
    const off_t places[] = {0, off_t{1} << 30, (off_t{3} << 30) + 4096};
    for (const off_t place : places) {
        zdtm::fill(data, static_cast<std::uint64_t>(place));
        SYS(pwrite(file, data.data(), data.size(), place));
    }
    SYS(ftruncate(file, off_t{4} << 30));
    me.wait_for_check();

    for (const off_t place : places) {
        CHECK(pread(file, data.data(), data.size(), place) == static_cast<ssize_t>(data.size()), "%s", strerror(errno));
        CHECK(zdtm::first_difference(data, static_cast<std::uint64_t>(place)) < 0, "data at %ld changed", place);
    }
    struct stat info {};
    SYS(fstat(file, &info));
    CHECK(info.st_size == off_t{4} << 30, "%ld bytes", info.st_size);
    CHECK(info.st_blocks * 512 < 32 << 20, "%ld bytes on disk", info.st_blocks * 512);
    char byte = 1;
    CHECK(pread(file, &byte, 1, off_t{2} << 30) == 1 && byte == 0, "the hole has data");
}
