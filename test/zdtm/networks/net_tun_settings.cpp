// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 has no field for offload, sets send buffers too early, adds a link-local address
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <tuple>

#include "network.hpp"
#include "zdtm.hpp"

namespace {

// Returns a feature (ETHTOOL_GTXCSUM, ETHTOOL_GTSO): the reader completes checksums or segments.
unsigned feature(const char* device, unsigned question) {
    ethtool_value value{question, 0};
    ifreq request{};
    strncpy(request.ifr_name, device, sizeof(request.ifr_name) - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    const int socket = SYS(::socket(AF_INET, SOCK_DGRAM, 0));
    SYS(ioctl(socket, SIOCETHTOOL, &request));
    SYS(close(socket));
    return value.data;
}

int attached(const char* name) {
    const int fd = SYS(open("/dev/net/tun", O_RDWR));
    ifreq request{};
    strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
    request.ifr_flags = IFF_TUN | IFF_VNET_HDR;
    SYS(ioctl(fd, TUNSETIFF, &request));
    return fd;
}

}  // namespace

ZDTM("a tun device keeps its offload flags, send buffer size and link-local address") {
    zdtm::enter_new_network();
    if (access("/dev/net/tun", R_OK | W_OK) != 0) {
        zdtm::skip("/dev/net/tun: %s", strerror(errno));
    }
    const int most = attached("zdtmmost");
    SYS(ioctl(most, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6));
    const int some = attached("zdtmsome");
    SYS(ioctl(some, TUNSETOFFLOAD, TUN_F_CSUM));
    attached("zdtmnone");
    const int buffer = 123456;
    SYS(ioctl(some, TUNSETSNDBUF, &buffer));
    CHECK(feature("zdtmmost", ETHTOOL_GTSO) == 1, "the device can't leave segmentation to the reader");
    zdtm::output_of("ip link set zdtmmost up");
    const char* const question = "ip -o -6 addr show dev zdtmmost | sed 's, scope.*,,'";
    const std::string address = zdtm::output_of(question);
    me.wait_for_check();
    for (const auto& [device, checksums, segments] :
         {std::tuple{"zdtmmost", 1U, 1U}, {"zdtmsome", 1U, 0U}, {"zdtmnone", 0U, 0U}}) {
        CHECK(feature(device, ETHTOOL_GTXCSUM) == checksums, "%s: checksums aren't %u", device, checksums);
        CHECK(feature(device, ETHTOOL_GTSO) == segments, "%s: segments aren't %u", device, segments);
    }
    int now_buffer = 0;
    SYS(ioctl(some, TUNGETSNDBUF, &now_buffer));
    CHECK(now_buffer == buffer, "the send buffer has %d", now_buffer);
    const std::string now = zdtm::output_of(question);
    CHECK(now == address, "the addresses were %s, are %s", address.c_str(), now.c_str());
}
