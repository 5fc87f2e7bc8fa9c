// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/netlink_diag.hpp"

#include <linux/netlink_diag.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {

NetlinkSocketInfo parseNetlinkSocket(std::span<const std::byte> answer) {
    netlink_diag_msg fixed{};
    if (answer.size() < sizeof(fixed))
        fail("the kernel's answer about a netlink socket has only {} bytes", answer.size());
    std::memcpy(&fixed, answer.data(), sizeof(fixed));
    return {fixed.ndiag_ino, fixed.ndiag_state, fixed.ndiag_portid, fixed.ndiag_dst_portid, fixed.ndiag_dst_group};
}

std::vector<NetlinkSocketInfo> readNetlinkSockets() {
    netlink_diag_req request{};
    request.sdiag_family = AF_NETLINK;
    request.sdiag_protocol = NDIAG_PROTO_ALL;
    NetlinkMessage message(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, request);
    std::vector<NetlinkSocketInfo> sockets;
    const int error = NetlinkSocket(NETLINK_SOCK_DIAG)
                          .request(message, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
                              if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY)
                                  sockets.push_back(parseNetlinkSocket(payload));
                          });
    if (error != 0 && error != ENOENT)
        failWith(error, "ask the kernel about netlink sockets");
    return sockets;
}

}  // namespace criu::kernel
