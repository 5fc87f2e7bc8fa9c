// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also limited-content
// zdtm: dump-options --ghost-limit 64M
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a deleted file of 32 MiB, above the usual limit") {
    const int file = SYS(open("gone", O_RDWR | O_CREAT, 0600));
    SYS(unlink("gone"));
    const std::size_t size = std::size_t{32} << 20;
    const std::span<std::byte> data = zdtm::map(size);
    zdtm::fill(data, 1);
    CHECK(write(file, data.data(), size) == static_cast<ssize_t>(size), "%s", strerror(errno));
    SYS(munmap(data.data(), size));
    me.wait_for_check();

    const std::span<std::byte> again = zdtm::map(size);
    CHECK(pread(file, again.data(), size, 0) == static_cast<ssize_t>(size), "%s", strerror(errno));
    CHECK(zdtm::first_difference(again, 1) < 0, "the data changed");
}
