// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid 2\b)(?=.*fd 3\b).*userfaultfd.*have the program close it
// zdtm: fails-with-4.2 its message does not say so
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a userfaultfd") {
    const long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        zdtm::skip("userfaultfd: %s", strerror(errno));
    }
    CHECK(fd == 3, "descriptor %ld", fd);
    uffdio_api api{};
    api.api = UFFD_API;
    SYS(ioctl(static_cast<int>(fd), UFFDIO_API, &api));
    me.wait_for_check();
    char message[64];
    CHECK(read(static_cast<int>(fd), message, sizeof message) == -1 && errno == EAGAIN, "%s", strerror(errno));
}
