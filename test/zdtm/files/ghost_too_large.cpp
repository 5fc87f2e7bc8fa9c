// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*(pid|process) 2\b)(?=.*gone).*--ghost-limit
// zdtm: fails-with-4.2 its message names no pid
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a deleted file above the size limit") {
    const int file = SYS(open("gone", O_RDWR | O_CREAT, 0600));
    SYS(unlink("gone"));
    const std::string data(std::size_t{3} << 20, 'x');
    CHECK(write(file, data.data(), data.size()) == static_cast<ssize_t>(data.size()), "%s", strerror(errno));
    me.wait_for_check();
    char byte = 0;
    CHECK(pread(file, &byte, 1, 3000000) == 1 && byte == 'x', "the data changed");
}
