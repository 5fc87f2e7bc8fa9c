// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Network devices of rtnetlink(7). All calls act on the calling thread's network namespace.
namespace criu::kernel {

/// Properties of a tun or tap device.
struct TunLink {
    std::uint32_t flags = 0;  ///< IFF_…, <linux/if_tun.h>
    std::int32_t user = -1;   ///< user that may attach; -1: any
    std::int32_t group = -1;
};

/// Driver setting of a device: a netlink attribute in IFLA_INFO_DATA or IFLA_INFO_SLAVE_DATA (rtnetlink(7)).
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
    std::string kind;                   ///< "veth", "bridge" …; empty for devices without rtnl_link_ops, such as
                                        ///< loopback
    std::optional<std::uint32_t> peer;  ///< index of the lower device or the veth peer
    std::optional<std::int32_t> peerNetwork;  ///< nsid of the peer's network namespace, if it is another one
    std::optional<std::uint32_t> master;      ///< index of the master device
    std::uint32_t queueLength = 0;            ///< transmit queue length in packets
    std::string queueing;                     ///< name of the queueing discipline (tc(8))
    std::vector<LinkOption> options;          ///< options of its driver
    std::vector<LinkOption> portOptions;      ///< port options of its master's driver
    std::vector<std::byte> address;           ///< hardware address; empty if it has none
    std::optional<TunLink> tun;
    bool hasProgram = false;  ///< the device has an XDP program
};

/// Parses one answer without its netlink header. Throws Error if it is too short.
NetworkLink parseLink(std::span<const std::byte> answer);

std::vector<NetworkLink> readLinks();
/// Reads one device. Throws Error if it doesn't exist.
NetworkLink readLink(std::uint32_t index);

/// Properties of a device to create.
struct NewLink {
    std::string_view name;    ///< empty: the kernel chooses
    std::uint32_t index = 0;  ///< 0: the kernel chooses
    std::optional<std::uint32_t> mtu;
    std::optional<std::uint32_t> queueLength;
    std::span<const std::byte> address;  ///< empty: the kernel chooses
    int network = -1;                    ///< descriptor of its namespace; -1: the calling thread's
    std::string_view kind;
    std::vector<LinkOption> options;
    std::optional<std::uint32_t> below;  ///< index of the lower device, in the calling thread's namespace
    const NewLink* otherEnd = nullptr;   ///< peer of a veth device
};

void makeLink(const NewLink& link);

/// Changes to an existing device; unset fields stay.
struct LinkChange {
    std::optional<std::uint32_t> flags{};  ///< IFF_… flags that programs may set
    std::optional<std::uint32_t> mtu{};
    std::optional<std::uint32_t> queueLength{};
    std::span<const std::byte> address{};
    std::optional<std::uint32_t> master{};
    std::string_view kind{};  ///< kind of the device, needed for options
    std::vector<LinkOption> options{};
    std::vector<LinkOption> portOptions{};  ///< options of a bridge port
    int network = -1;                       ///< descriptor of the namespace to move it to
    std::uint32_t newIndex = 0;             ///< index in the new namespace
    std::string_view newName{};
};

void changeLink(std::uint32_t index, const LinkChange& change);

/// Removes a device; also removes the peer of a veth device.
void removeLink(std::uint32_t index);

/// Returns the index of a device by name. Throws Error if it doesn't exist.
std::uint32_t linkIndex(const std::string& name);

/// Reads the priorities of the routing rules of a family (AF_INET, AF_INET6).
std::vector<std::uint32_t> readRulePriorities(int family);

}  // namespace criu::kernel
