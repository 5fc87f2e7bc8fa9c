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

/// What the kernel reports of a tun or tap device.
struct TunLink {
    std::uint32_t flags = 0;  ///< IFF_…, <linux/if_tun.h>
    std::int32_t user = -1;   ///< that may attach to it; -1: none in particular
    std::int32_t group = -1;
};

/// One setting of a device that its driver reports or accepts: an attribute of netlink, IFLA_INFO_DATA or
/// IFLA_INFO_SLAVE_DATA in rtnetlink(7).
struct LinkOption {
    std::uint16_t type = 0;
    std::vector<std::byte> value;
    friend bool operator==(const LinkOption&, const LinkOption&) = default;
};

struct NetworkLink {
    std::uint32_t index = 0;
    std::uint16_t hardware = 0;  ///< ARPHRD_…, <linux/if_arp.h>
    std::uint32_t flags = 0;     ///< IFF_…
    std::uint32_t mtu = 0;
    std::string name;
    std::string kind;                   ///< "veth", "bridge" …; empty for what has no driver of that sort: loopback
    std::optional<std::uint32_t> peer;  ///< index of the device below or at the other end
    std::optional<std::int32_t> peerNetwork;  ///< id of the network namespace the peer is in, if that is another
    std::optional<std::uint32_t> master;      ///< index of the device it is a port of
    std::uint32_t queueLength = 0;            ///< packets
    std::string queueing;                     ///< name of its queueing discipline, tc(8)
    std::vector<LinkOption> options;          ///< of its driver
    std::vector<LinkOption> portOptions;      ///< of its master's driver
    std::vector<std::byte> address;           ///< of the hardware; empty if it has none
    std::optional<TunLink> tun;
    bool hasProgram = false;  ///< an XDP program is attached
};

/// One answer, from behind the netlink header. Throws Error if it is too short to be one.
NetworkLink parseLink(std::span<const std::byte> answer);

std::vector<NetworkLink> readLinks();
/// One device; throws Error if there is none.
NetworkLink readLink(std::uint32_t index);

/// A device that is to be made.
struct NewLink {
    std::string_view name;    ///< empty: of the kernel's choice
    std::uint32_t index = 0;  ///< 0: of the kernel's choice
    std::optional<std::uint32_t> mtu;
    std::optional<std::uint32_t> queueLength;
    std::span<const std::byte> address;  ///< empty: of the kernel's choice
    int network = -1;                    ///< descriptor of its namespace; -1: the calling thread's
    std::string_view kind;
    std::vector<LinkOption> options;
    std::optional<std::uint32_t> below;  ///< index of the device it stands on, in the calling thread's namespace
    const NewLink* otherEnd = nullptr;   ///< of a veth device
};

void makeLink(const NewLink& link);

/// What is to become of an existing device; what isn't set stays.
struct LinkChange {
    std::optional<std::uint32_t> flags{};  ///< IFF_…: those that programs may set
    std::optional<std::uint32_t> mtu{};
    std::optional<std::uint32_t> queueLength{};
    std::span<const std::byte> address{};
    std::optional<std::uint32_t> master{};
    std::string_view kind{};  ///< of the device, for options
    std::vector<LinkOption> options{};
    std::vector<LinkOption> portOptions{};  ///< of a port of a bridge
    int network = -1;                       ///< descriptor of the namespace it is moved to
    std::uint32_t newIndex = 0;             ///< there
    std::string_view newName{};
};

void changeLink(std::uint32_t index, const LinkChange& change);

/// Takes a device away, and a veth device's other end with it.
void removeLink(std::uint32_t index);

/// Index of a device by name; throws Error if there is none.
std::uint32_t linkIndex(const std::string& name);

/// Priorities of the routing rules of a family (AF_INET, AF_INET6).
std::vector<std::uint32_t> readRulePriorities(int family);

}  // namespace criu::kernel
