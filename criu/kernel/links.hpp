// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Network devices, as rtnetlink(7) has them. All calls are about the network namespace of the calling thread.
namespace criu::kernel {

/// What the kernel tells of a tun or tap device.
struct TunLink {
    std::uint32_t flags = 0;  ///< IFF_…, <linux/if_tun.h>
    std::int32_t user = -1;   ///< that may attach to it; -1: none in particular
    std::int32_t group = -1;
};

struct NetworkLink {
    std::uint32_t index = 0;
    std::uint16_t hardware = 0;  ///< ARPHRD_…, <linux/if_arp.h>
    std::uint32_t flags = 0;     ///< IFF_…
    std::uint32_t mtu = 0;
    std::string name;
    std::string kind;                   ///< "veth", "bridge" …; empty for what has no driver of that sort: loopback
    std::optional<std::uint32_t> peer;  ///< index of the device below or at the other end
    std::vector<std::byte> address;     ///< of the hardware; empty if it has none
    std::optional<TunLink> tun;
    bool hasProgram = false;  ///< an XDP program is attached
};

/// One answer, from behind the netlink header. Throws Error if it is too short to be one.
NetworkLink parseLink(std::span<const std::byte> answer);

std::vector<NetworkLink> readLinks();

/// Sets the administrative state and MTU of a device.
void configureLink(std::uint32_t index, bool up, std::uint32_t mtu);

/// Sets the hardware address of a device.
void setLinkAddress(std::uint32_t index, std::span<const std::byte> address);

/// Priorities of the routing rules of a family (AF_INET, AF_INET6).
std::vector<std::uint32_t> readRulePriorities(int family);

}  // namespace criu::kernel
