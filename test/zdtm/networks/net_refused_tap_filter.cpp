// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .* network device zdtmtap, which has a packet filter
// zdtm: fails-with-4.2 its message names no pid
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a tap device with a filter and leaves the filter attached") {
    zdtm::enter_new_network();
    const int fd = open("/dev/net/tun", O_RDWR);
    if (fd < 0) {
        zdtm::skip("/dev/net/tun: %s", strerror(errno));
    }
    ifreq request{};
    strcpy(request.ifr_name, "zdtmtap");
    request.ifr_flags = IFF_TAP;
    SYS(ioctl(fd, TUNSETIFF, &request));
    sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, 0xffff)};
    sock_fprog program{1, all};
    SYS(ioctl(fd, TUNATTACHFILTER, &program));
    me.wait_for_check();
    program = {};
    SYS(ioctl(fd, TUNGETFILTER, &program));
    CHECK(program.len == 1 && program.filter == all, "another filter");
}
