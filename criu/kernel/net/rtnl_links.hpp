// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Functions for network devices, by rtnetlink(7). All functions act on the calling thread's network namespace.
namespace criu::kernel {

/// Properties of a tun or tap device.
struct TunLink {
    std::uint32_t flags = 0;  ///< IFF_… flags of <linux/if_tun.h>
    std::int32_t user = -1;   ///< uid that may attach to the device; -1 if any user may
    std::int32_t group = -1;
};

/// Driver setting of a device. It is a netlink attribute in IFLA_INFO_DATA or IFLA_INFO_SLAVE_DATA (rtnetlink(7)).
struct LinkOption {
    std::uint16_t type = 0;
    std::vector<std::byte> value;
    friend bool operator==(const LinkOption&, const LinkOption&) = default;
};

struct NetworkLink {
    std::uint32_t index = 0;
    std::uint16_t hardware = 0;  ///< ARPHRD_… value of <linux/if_arp.h>
    std::uint32_t flags = 0;     ///< IFF_…
    std::uint32_t mtu = 0;
    std::string name;
    std::string kind;  ///< kind such as "veth" or "bridge"; empty for devices without rtnl_link_ops, such as loopback
    std::optional<std::uint32_t> peer;  ///< index of the lower device or of the veth peer
    std::optional<std::int32_t>
        /// Nsid of the network namespace in which `peer` is; unset if it is this namespace.
        peerNetwork;
    std::optional<std::uint32_t> master;  ///< index of the master device
    std::uint32_t queueLength = 0;        ///< transmit queue length in packets
    std::string queueing;                 ///< name of the queueing discipline (tc(8))
    std::vector<LinkOption> options;      ///< options of the device's driver
    std::vector<LinkOption> portOptions;  ///< options that the driver of the master device stores for this port
    std::vector<std::byte> address;       ///< hardware address; empty if the device has none
    std::optional<TunLink> tun;
    bool hasProgram = false;  ///< true if the device has an XDP program
};

/// Parses one message of the kernel without its netlink header. Throws Error if the message is too short.
NetworkLink parseLink(std::span<const std::byte> answer);

std::vector<NetworkLink> readLinks();
/// Reads the device with this index. Throws Error if it doesn't exist.
NetworkLink readLink(std::uint32_t index);

/// Properties of a device that makeLink() creates.
struct NewLink {
    std::string_view name;    ///< empty if the kernel chooses the name
    std::uint32_t index = 0;  ///< 0 if the kernel chooses the index
    std::optional<std::uint32_t> mtu;
    std::optional<std::uint32_t> queueLength;
    std::span<const std::byte> address;  ///< hardware address; empty if the kernel chooses it
    /// Descriptor of the network namespace in which the device is created; -1 for the calling thread's.
    int network = -1;
    std::string_view kind;
    std::vector<LinkOption> options;
    std::optional<std::uint32_t> below;  ///< index of the lower device, in the calling thread's namespace
    const NewLink* otherEnd = nullptr;   ///< properties of a veth device's other end; nullptr for other devices
};

void makeLink(const NewLink& link);

/// Changes of an existing device. Unset fields leave the property unchanged.
struct LinkChange {
    std::optional<std::uint32_t> flags{};  ///< IFF_… flags that user space may set
    std::optional<std::uint32_t> mtu{};
    std::optional<std::uint32_t> queueLength{};
    std::span<const std::byte> address{};
    std::optional<std::uint32_t> master{};
    std::string_view kind{};  ///< kind of the device; required for options
    std::vector<LinkOption> options{};
    std::vector<LinkOption> portOptions{};  ///< options of a bridge port
    int network = -1;            ///< descriptor of the network namespace to which the device moves; -1 to stay
    std::uint32_t newIndex = 0;  ///< index in the new network namespace; 0 if the kernel chooses it
    std::string_view newName{};
};

void changeLink(std::uint32_t index, const LinkChange& change);

/// Removes a device. The kernel also removes the peer of a veth device.
void removeLink(std::uint32_t index);

/// Returns the index of the device with this name. Throws Error if it doesn't exist.
std::uint32_t linkIndex(const std::string& name);

/// Reads the priorities of all routing rules of a family (AF_INET or AF_INET6).
std::vector<std::uint32_t> readRulePriorities(int family);

}  // namespace criu::kernel
