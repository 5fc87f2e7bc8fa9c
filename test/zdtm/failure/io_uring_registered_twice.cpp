// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring.*registered file 0 .*may be one of 2 .*close the others
// zdtm: fails-with-4.2 its message does not say so
#include <fcntl.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an io_uring with a registered file that the program has opened twice") {
    zdtm::Ring ring(4);
    zdtm::write_file("some data", "0123456789");
    const int file = SYS(open("some data", O_RDONLY));
    SYS(open("some data", O_RDONLY));
    ring.enroll(IORING_REGISTER_FILES, &file, 1);
    me.wait_for_check();
    ring.spin(20);
}
