// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/saved_routes.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "criu/base/error.hpp"

namespace criu::namespaces {
namespace {

/// Flags of routes by which the kernel reports that a device has no carrier. The kernel refuses a new route with these
/// flags.
constexpr unsigned kState = RTNH_F_DEAD | RTNH_F_LINKDOWN;

void forgetState(char* hops, std::size_t left) {
    rtnexthop hop{};
    while (left >= sizeof(hop)) {
        std::memcpy(&hop, hops, sizeof(hop));
        const std::size_t size = RTNH_ALIGN(std::size_t{hop.rtnh_len});
        if (hop.rtnh_len < sizeof(hop) || size > left)
            return;
        hop.rtnh_flags = static_cast<unsigned char>(hop.rtnh_flags & ~kState);
        std::memcpy(hops, &hop, sizeof(hop));
        hops += size;
        left -= size;
    }
}

/// Clears the flags kState in one route, which is `length` bytes long.
void forgetState(std::string& message, std::size_t length) {
    rtmsg route{};
    std::memcpy(&route, message.data() + NLMSG_HDRLEN, sizeof(route));
    route.rtm_flags &= ~kState;
    std::memcpy(message.data() + NLMSG_HDRLEN, &route, sizeof(route));
    rtattr attribute{};
    for (std::size_t at = NLMSG_SPACE(sizeof(route)); at + sizeof(attribute) <= length;) {
        std::memcpy(&attribute, message.data() + at, sizeof(attribute));
        if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > length - at)
            return;
        if (attribute.rta_type == RTA_MULTIPATH)
            forgetState(message.data() + at + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
        at += RTA_ALIGN(std::size_t{attribute.rta_len});
    }
}

}  // namespace

std::string cleanedRoutes(std::string_view saved) {
    constexpr std::size_t kMagic = sizeof(std::uint32_t);
    std::string kept(saved.substr(0, kMagic));
    for (std::size_t at = kMagic; at < saved.size();) {
        nlmsghdr header{};
        rtmsg route{};
        constexpr std::size_t kLeast = NLMSG_HDRLEN + sizeof(route);
        if (saved.size() - at >= kLeast)
            std::memcpy(&header, saved.data() + at, sizeof(header));
        if (header.nlmsg_len < kLeast || header.nlmsg_len > saved.size() - at)
            fail("what ip route save wrote is cut off at byte {}", at);
        std::memcpy(&route, saved.data() + at + NLMSG_HDRLEN, sizeof(route));
        const std::size_t size = std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), saved.size() - at);
        if (route.rtm_table != RT_TABLE_LOCAL || route.rtm_protocol != RTPROT_KERNEL) {
            std::string message(saved.substr(at, size));
            forgetState(message, header.nlmsg_len);
            kept += message;
        }
        at += size;
    }
    return kept;
}

}  // namespace criu::namespaces
