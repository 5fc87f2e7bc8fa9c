// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/host_addresses.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "criu/base/error.hpp"

namespace criu::sockets {

std::vector<HostAddress> readHostAddresses() {
    ifaddrs* list = nullptr;
    sys(::getifaddrs(&list), "read the addresses of this host");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
    std::vector<HostAddress> all;
    for (const ifaddrs* next = list; next != nullptr; next = next->ifa_next) {
        const int family = next->ifa_addr != nullptr ? next->ifa_addr->sa_family : AF_UNSPEC;
        if (family != AF_INET && family != AF_INET6)
            continue;
        SocketAddress address{};
        std::memcpy(&address, next->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        HostAddress& found = all.emplace_back(InetEndpoint::fromSocket(address), ::if_nametoindex(next->ifa_name));
        found.address.port = 0;
    }
    return all;
}

bool isLoopback(const InetEndpoint& address) noexcept {
    return address.family == AF_INET && (ntohl(address.words[0]) >> IN_CLASSA_NSHIFT) == IN_LOOPBACKNET;
}

bool isForMany(const InetEndpoint& address) noexcept {
    if (address.family == AF_INET)
        return IN_MULTICAST(ntohl(address.words[0])) || address.words[0] == INADDR_BROADCAST;
    return (ntohl(address.words[0]) >> 24) == 0xff;
}

bool isOfHost(const InetEndpoint& address, const std::vector<HostAddress>& all) noexcept {
    InetEndpoint wanted = address;
    wanted.port = 0;
    return isLoopback(wanted) ||
           (!isForMany(wanted) && std::ranges::find(all, wanted, &HostAddress::address) != all.end());
}

}  // namespace criu::sockets
