// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM(
    "duplicated descriptors share offset and flags and have their own close-on-exec flags; descriptors of two open(2) "
    "calls share nothing") {
    zdtm::write_file("data", "0123456789");
    const int first = SYS(open("data", O_RDWR));
    const int twin = SYS(dup(first));
    const int far = SYS(fcntl(first, F_DUPFD_CLOEXEC, 700));
    const int other = SYS(open("data", O_RDWR));
    SYS(lseek(first, 3, SEEK_SET));
    SYS(lseek(other, 8, SEEK_SET));
    me.wait_for_check();

    CHECK(far == 700 && (fcntl(far, F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec was lost");
    CHECK((fcntl(twin, F_GETFD) & FD_CLOEXEC) == 0, "close-on-exec spread");
    char byte = 0;
    CHECK(read(twin, &byte, 1) == 1 && byte == '3', "read %c", byte);
    CHECK(read(far, &byte, 1) == 1 && byte == '4', "read %c", byte);
    CHECK(lseek(first, 0, SEEK_CUR) == 5, "offset %ld", lseek(first, 0, SEEK_CUR));
    CHECK(read(other, &byte, 1) == 1 && byte == '8', "read %c", byte);
    SYS(fcntl(twin, F_SETFL, O_APPEND));
    CHECK((fcntl(first, F_GETFL) & O_APPEND) != 0, "flags aren't shared");
    CHECK((fcntl(other, F_GETFL) & O_APPEND) == 0, "flags spread");
}
