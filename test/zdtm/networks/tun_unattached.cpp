// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 wants a network namespace of the tree
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "zdtm.hpp"

ZDTM("a descriptor of /dev/net/tun without a device in the host's network namespace") {
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0) {
        zdtm::skip("/dev/net/tun: %s", strerror(errno));
    }
    me.wait_for_check();
    ifreq request{};
    CHECK(ioctl(fd, TUNGETIFF, &request) == -1 && errno == EBADFD, "attached to %s", request.ifr_name);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK, "flags are %#o", fcntl(fd, F_GETFL));
    SYS(ioctl(fd, TUNGETFEATURES, &request));
    strcpy(request.ifr_name, "zdtmlate%d");
    request.ifr_flags = IFF_TUN;
    SYS(ioctl(fd, TUNSETIFF, &request));
}
