// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .* attached to network device zdtmout\d+, which is in a network namespace that isn't dumped
// zdtm: fails-with-4.2 its message names no pid
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a tap device of the host's network namespace; the error names it") {
    const int fd = open("/dev/net/tun", O_RDWR);
    if (fd < 0) {
        zdtm::skip("/dev/net/tun: %s", strerror(errno));
    }
    ifreq request{};
    strcpy(request.ifr_name, "zdtmout%d");
    request.ifr_flags = IFF_TAP;
    SYS(ioctl(fd, TUNSETIFF, &request));
    me.wait_for_check();
    ifreq now{};
    SYS(ioctl(fd, TUNGETIFF, &now));
    CHECK(strcmp(now.ifr_name, request.ifr_name) == 0, "attached to %s", now.ifr_name);
}
