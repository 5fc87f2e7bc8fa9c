// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/saved_routes.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "criu/base/error.hpp"

namespace criu::namespaces {

std::string withoutOwnRoutes(std::string_view saved) {
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
        if (route.rtm_table != RT_TABLE_LOCAL || route.rtm_protocol != RTPROT_KERNEL)
            kept += saved.substr(at, size);
        at += size;
    }
    return kept;
}

}  // namespace criu::namespaces
