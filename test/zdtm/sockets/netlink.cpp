// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves out type and options, and refuses groups above 32
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

#include "zdtm.hpp"

namespace {
std::uint32_t port_of(int fd) {
    sockaddr_nl address{};
    socklen_t size = sizeof address;
    SYS(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size));
    return address.nl_pid;
}

// Binds to a port id that no other test has. The kernel would choose the pid, which repeats in pid namespaces.
void bind_to(int fd, std::uint32_t groups) {
    struct stat output {};
    SYS(fstat(STDOUT_FILENO, &output));
    sockaddr_nl address{};
    address.nl_pid = static_cast<std::uint32_t>(output.st_ino) | 0x4000'0000;
    address.nl_family = AF_NETLINK;
    address.nl_groups = groups;
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

bool is_member(int fd, unsigned group) {
    std::array<std::uint32_t, 16> words{};
    socklen_t size = sizeof words;
    SYS(getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, words.data(), &size));
    return (words[(group - 1) / 32] >> ((group - 1) % 32) & 1U) != 0;
}

int option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    SYS(getsockopt(fd, level, name, &value, &size));
    return value;
}
}  // namespace

ZDTM(
    "netlink sockets: port id, groups (some without a port, some above 32), type, options; the kernel answers "
    "requests") {
    const int one = SYS(socket(AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE));
    bind_to(one, 1U << (RTNLGRP_DECnet_ROUTE - 1));  // group that gets no messages any more
    const unsigned high = RTNLGRP_MPLS_NETCONF;
    SYS(setsockopt(one, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &high, sizeof high));
    const int on = 1;
    SYS(setsockopt(one, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on));
    SYS(setsockopt(one, SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof on));
    const int fresh = SYS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    const std::uint32_t port = port_of(one);
    CHECK(port != 0 && port_of(fresh) == 0, "ports %u and %u", port, port_of(fresh));
    me.wait_for_check();

    CHECK(port_of(one) == port, "port %u instead of %u", port_of(one), port);
    CHECK(port_of(fresh) == 0, "a socket is bound to %u", port_of(fresh));
    CHECK(is_member(one, RTNLGRP_DECnet_ROUTE) && is_member(one, high), "groups are lost");
    CHECK(!is_member(one, RTNLGRP_NEIGH) && !is_member(fresh, RTNLGRP_DECnet_ROUTE), "groups too many");
    CHECK(option(one, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM, "type %d", option(one, SOL_SOCKET, SO_TYPE));
    CHECK(option(one, SOL_NETLINK, NETLINK_EXT_ACK) == 1, "NETLINK_EXT_ACK is lost");
    CHECK(option(one, SOL_NETLINK, NETLINK_NO_ENOBUFS) == 1, "NETLINK_NO_ENOBUFS is lost");
    CHECK(option(one, SOL_NETLINK, NETLINK_CAP_ACK) == 0, "NETLINK_CAP_ACK is set");
    struct {
        nlmsghdr header;
        ifinfomsg link;
    } request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.link.ifi_index = 1;
    for (const int fd : {one, fresh}) {
        SYS(send(fd, &request, sizeof request, 0));
        alignas(nlmsghdr) std::array<char, 8192> answer{};
        CHECK(recv(fd, answer.data(), answer.size(), 0) > 0, "no answer: %s", strerror(errno));
        CHECK(reinterpret_cast<const nlmsghdr*>(answer.data())->nlmsg_type == RTM_NEWLINK, "another answer");
    }
}
