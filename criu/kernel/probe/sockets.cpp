// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/inet_diag.h>
#include <linux/net_namespace.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/un.h>
#include <linux/veth.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/net/netlink.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"

namespace criu::kernel::probe {

namespace {

UniqueFd openSocket(int family, int type, int protocol = 0) {
    return UniqueFd(
        sys(::socket(family, type | SOCK_CLOEXEC, protocol), "create a socket of family {}, type {}", family, type));
}

void newNetNs() {
    sys(::unshare(CLONE_NEWNET), "create a network namespace");
}

constexpr int kLoopback = 1;  // index of the loopback device in every network namespace

void raiseLoopback() {
    ifinfomsg link{};
    link.ifi_index = kLoopback;
    link.ifi_flags = IFF_UP;
    link.ifi_change = IFF_UP;
    NetlinkMessage message(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, link);
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "raise the loopback device");
}

/// TCP connection over loopback, with both ends in this process.
struct TcpPair {
    UniqueFd client;
    UniqueFd server;
};

TcpPair connectTcp() {
    const UniqueFd listener = openSocket(AF_INET, SOCK_STREAM);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    sys(::bind(listener.get(), generic, length), "bind to loopback");
    sys(::listen(listener.get(), 1), "listen on loopback");
    sys(::getsockname(listener.get(), generic, &length), "get a socket's port");
    TcpPair pair;
    pair.client = openSocket(AF_INET, SOCK_STREAM);
    sys(::connect(pair.client.get(), generic, length), "connect to loopback");
    pair.server.reset(sys(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept from loopback"));
    return pair;
}

bool repairHalfClosed() {
    const TcpPair pair = connectTcp();
    sys(::shutdown(pair.client.get(), SHUT_WR), "shut down a connection");
    const int on = 1;
    return ::setsockopt(pair.client.get(), SOL_TCP, TCP_REPAIR, &on, sizeof(on)) == 0;
}

bool listsRawSockets(std::uint8_t family) {
    // The filter selects no state, so that the kernel lists no socket. The call only shows whether the kernel can list
    // raw sockets.
    inet_diag_req_v2 filter{};
    filter.sdiag_family = family;
    filter.sdiag_protocol = IPPROTO_RAW;
    NetlinkMessage message(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, filter);
    return NetlinkSocket(NETLINK_SOCK_DIAG).request(message) == 0;
}

bool hasIpv6() {
    return ::access("/proc/sys/net/ipv6", F_OK) == 0;
}

/// Returns true if $PATH contains a tool with this name that uses the kernel's legacy interface. The tool prints a
/// version such as "iptables v1.8.9 (legacy)", in which older tools don't name an interface.
bool isLegacyTool(const std::string& name) {
    const std::string command = "PATH=\"$PATH:/usr/sbin:/sbin\" " + name + " --version 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "re"), ::pclose);
    if (!output)
        failErrno("run {}", name);
    std::array<char, 256> line{};
    if (::fgets(line.data(), line.size(), output.get()) == nullptr)
        return false;
    const std::string_view text(line.data());
    return text.find(" v") != std::string_view::npos && text.find("nf_tables") == std::string_view::npos;
}

}  // namespace

bool socketNetNs() {
    const UniqueFd socket = openSocket(AF_UNIX, SOCK_DGRAM);
    return UniqueFd(::ioctl(socket.get(), SIOCGSKNS)).valid();
}

bool unixSocketFile() {
    // The socket has no address, and so no file. A kernel that supports the ioctl returns ENOENT for such a socket.
    const UniqueFd socket = openSocket(AF_UNIX, SOCK_DGRAM);
    const UniqueFd file(::ioctl(socket.get(), SIOCUNIXFILE));
    return file.valid() || errno == ENOENT;
}

bool socketBufferLock() {
    constexpr int bufferLock = 72;  // SO_BUF_LOCK, Linux 5.14
    const UniqueFd socket = openSocket(AF_UNIX, SOCK_DGRAM);
    const int both = 3;
    int now = 0;
    socklen_t length = sizeof(now);
    return ::setsockopt(socket.get(), SOL_SOCKET, bufferLock, &both, sizeof(both)) == 0 &&
           ::getsockopt(socket.get(), SOL_SOCKET, bufferLock, &now, &length) == 0 && now == both;
}

bool ipv6Freebind() {
    constexpr int freebind = 78;  // IPV6_FREEBIND, Linux 4.15
    const UniqueFd socket = openSocket(AF_INET6, SOCK_DGRAM);
    const int on = 1;
    return ::setsockopt(socket.get(), SOL_IPV6, freebind, &on, sizeof(on)) == 0;
}

bool tcpHalfClosed() {
    try {
        return repairHalfClosed();
    } catch (const Error&) {
        // Probes again in a new network namespace, because loopback may be down in this namespace.
        return inChild([] {
            newNetNs();
            raiseLoopback();
            return repairHalfClosed();
        });
    }
}

bool rawDiag() {
    return listsRawSockets(AF_INET) && (!hasIpv6() || listsRawSockets(AF_INET6));
}

bool rawSockets() {
    // The feature also works without raw_diag: criu then reads the options of a socket from a duplicate of its
    // descriptor (pidfd_getfd(2)). CRIU, too, dumps raw sockets on such kernels.
    return rawDiag() || pidfdStore();
}

bool netNsId() {
    rtgenmsg generic{};
    generic.rtgen_family = AF_UNSPEC;
    NetlinkMessage message(RTM_GETNSID, NLM_F_REQUEST | NLM_F_ACK, generic);
    message.number<std::uint32_t>(NETNSA_PID, static_cast<std::uint32_t>(::getpid()));
    bool answered = false;
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        answered = header.nlmsg_type == RTM_NEWNSID && payload.size() >= sizeof(rtgenmsg) &&
                   hasAttribute(payload.subspan(NLMSG_ALIGN(sizeof(rtgenmsg))), NETNSA_NSID);
    });
    return code == 0 && answered;
}

bool linkNetNsId() {
    return inChild([] {
        newNetNs();
        const UniqueFd peerNs(sys(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "open the network namespace"));
        newNetNs();
        NetlinkSocket netlink(NETLINK_ROUTE);
        const ifinfomsg any{};
        NetlinkMessage create(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, any);
        create.attribute(IFLA_IFNAME, "probe0");
        create.nested(IFLA_LINKINFO, [&] {
            create.attribute(IFLA_INFO_KIND, "veth");
            create.nested(IFLA_INFO_DATA, [&] {
                create.nested(VETH_INFO_PEER, [&] {
                    create.append(&any, sizeof(any));
                    create.number<std::uint32_t>(IFLA_NET_NS_FD, static_cast<std::uint32_t>(peerNs.get()));
                });
            });
        });
        if (const int code = netlink.request(create); code != 0)
            failWith(code, "create a veth pair");
        NetlinkMessage ask(RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, any);
        ask.attribute(IFLA_IFNAME, "probe0");
        bool shown = false;
        netlink.request(ask, [&](const nlmsghdr&, auto payload) {
            shown = payload.size() >= sizeof(ifinfomsg) &&
                    hasAttribute(payload.subspan(NLMSG_ALIGN(sizeof(ifinfomsg))), IFLA_LINK_NETNSID);
        });
        return shown;
    });
}

bool newIfIndex() {
    // A kernel that supports the attribute refuses negative indices with ERANGE. Other kernels ignore the attribute and
    // change nothing.
    ifinfomsg link{};
    link.ifi_index = kLoopback;
    NetlinkMessage message(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, link);
    message.number<std::int32_t>(IFLA_NEW_IFINDEX, -1);
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message);
    return code == ERANGE;
}

bool nftables() {
    return Nftables::available();
}

bool nftablesConcat() {
    // Runs in a new network namespace, so that the probe changes no rule of the host.
    return inChild([] {
        newNetNs();
        Nftables().run("add table inet probe; add set inet probe pairs { type ipv4_addr . inet_service; }");
        return true;
    });
}

bool iptablesLegacy() {
    const auto either = [](const std::string& family) {
        return isLegacyTool(family + "-save") || isLegacyTool(family + "-legacy-save");
    };
    return either("iptables") && (!hasIpv6() || either("ip6tables"));
}

}  // namespace criu::kernel::probe
