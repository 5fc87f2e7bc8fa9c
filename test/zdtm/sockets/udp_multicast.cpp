// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves memberships out
#include <arpa/inet.h>
#include <net/if.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
sockaddr_storage group(int family, const char* text) {
    zdtm::Inet inet = zdtm::Inet::loopback(family);
    if (family == AF_INET) {
        inet_pton(family, text, &reinterpret_cast<sockaddr_in&>(inet.room).sin_addr);
    } else {
        inet_pton(family, text, &reinterpret_cast<sockaddr_in6&>(inet.room).sin6_addr);
    }
    return inet.room;
}

int joined(int family, const char* text) {
    const int fd = SYS(socket(family, SOCK_DGRAM, 0));
    group_req request{};
    request.gr_interface = if_nametoindex("lo");
    request.gr_group = group(family, text);
    if (setsockopt(fd, family == AF_INET ? int{IPPROTO_IP} : int{IPPROTO_IPV6}, MCAST_JOIN_GROUP, &request,
                   sizeof request) != 0) {
        zdtm::skip("join %s: %s", text, strerror(errno));
    }
    return fd;
}

// Returns mode and number of sources; -1 if the socket is not in the group.
int filter(int fd, int family, const char* text, std::uint32_t* sources) {
    struct {
        group_filter head;
        sockaddr_storage more[4];
    } answer{};
    answer.head.gf_interface = if_nametoindex("lo");
    answer.head.gf_group = group(family, text);
    answer.head.gf_numsrc = 5;
    socklen_t size = sizeof answer;
    if (getsockopt(fd, family == AF_INET ? int{IPPROTO_IP} : int{IPPROTO_IPV6}, MCAST_MSFILTER, &answer, &size) != 0) {
        return -1;
    }
    *sources = answer.head.gf_numsrc;
    return static_cast<int>(answer.head.gf_fmode);
}
}  // namespace

ZDTM("IPv4 and IPv6 multicast memberships with all senders, without some, and with some only") {
    const int four = joined(AF_INET, "239.1.2.3");
    const int six = joined(AF_INET6, "ff15::1234");
    const int less = joined(AF_INET, "239.1.2.4");
    group_source_req one{};
    one.gsr_interface = if_nametoindex("lo");
    one.gsr_group = group(AF_INET, "239.1.2.4");
    one.gsr_source = group(AF_INET, "10.0.0.7");
    SYS(setsockopt(less, IPPROTO_IP, MCAST_BLOCK_SOURCE, &one, sizeof one));
    const int only = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    one.gsr_group = group(AF_INET, "239.1.2.5");
    SYS(setsockopt(only, IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, &one, sizeof one));
    me.wait_for_check();

    std::uint32_t sources = 99;
    CHECK(filter(four, AF_INET, "239.1.2.3", &sources) == MCAST_EXCLUDE && sources == 0, "%u sources", sources);
    CHECK(filter(four, AF_INET, "239.1.2.4", &sources) == -1, "a member of another's group");
    CHECK(filter(six, AF_INET6, "ff15::1234", &sources) == MCAST_EXCLUDE && sources == 0, "%u sources", sources);
    CHECK(filter(less, AF_INET, "239.1.2.4", &sources) == MCAST_EXCLUDE && sources == 1, "%u sources", sources);
    CHECK(filter(only, AF_INET, "239.1.2.5", &sources) == MCAST_INCLUDE && sources == 1, "%u sources", sources);
}
