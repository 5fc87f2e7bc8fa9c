// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/device_dump.hpp"

#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/kernel/net/neighbours.hpp"
#include "criu/kernel/net/queueing.hpp"
#include "criu/namespaces/net/device_options.hpp"
#include "criu/namespaces/net/network_settings.hpp"

namespace criu::namespaces {
namespace {

using kernel::NetworkLink;

/// Devices that kernel modules create in every new network namespace, as pairs of kind and name.
constexpr std::pair<std::string_view, std::string_view> kOfEveryNamespace[] = {
    {"sit", "sit0"},       {"ipip", "tunl0"},     {"gre", "gre0"},    {"gretap", "gretap0"}, {"erspan", "erspan0"},
    {"ip6tnl", "ip6tnl0"}, {"ip6gre", "ip6gre0"}, {"vti", "ip_vti0"}, {"vti6", "ip6_vti0"},
};
/// Queueing disciplines that the kernel chooses by itself, so that a restore needn't set them.
constexpr std::string_view kUsualQueueing[] = {"", "noop", "noqueue", "pfifo_fast", "fq_codel", "mq"};

template <std::size_t N>
bool isOneOf(const std::string_view (&list)[N], std::string_view text) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

[[noreturn]] void refuse(std::string text, std::string_view hint) {
    Error error(0, std::move(text));
    error.addHint(hint);
    throw error;
}

bool isCreatedByKernel(const NetworkLink& link) {
    const bool known = std::any_of(std::begin(kOfEveryNamespace), std::end(kOfEveryNamespace), [&](const auto& device) {
        return link.kind == device.first && link.name == device.second;
    });
    return known && (link.flags & IFF_UP) == 0;
}

/// Returns the value of a device's option. Returns nullopt if the device lacks the option or the value is too short.
template <typename Number>
std::optional<Number> numberIn(const NetworkLink& link, std::uint16_t type) {
    for (const kernel::LinkOption& option : link.options)
        if (option.type == type && option.value.size() >= sizeof(Number)) {
            Number value{};
            std::memcpy(&value, option.value.data(), sizeof(value));
            return value;
        }
    return std::nullopt;
}

void fillMacvlan(const NetworkLink& link, NetDeviceEntry& device, Arena& arena) {
    auto& out = *arena.make<MacvlanLinkEntry>();
    device.macvlan = &out;
    out.mode = numberIn<std::uint32_t>(link, IFLA_MACVLAN_MODE).value_or(0);
    if (const auto flags = numberIn<std::uint16_t>(link, IFLA_MACVLAN_FLAGS)) {
        out.has_flags = 1;
        out.flags = *flags;
    }
}

}  // namespace

NdType DeviceDump::typeOf(const NetworkLink& link) const {
    if (link.hardware == ARPHRD_LOOPBACK)
        return ND_TYPE__LOOPBACK;
    if (link.tun)
        return ND_TYPE__TUN;
    if (link.kind == "veth")
        return ND_TYPE__VETH;
    if (link.kind == "bridge")
        return ND_TYPE__BRIDGE;
    if (link.kind == "macvlan" &&
        numberIn<std::uint32_t>(link, IFLA_MACVLAN_MODE).value_or(MACVLAN_MODE_SOURCE) != MACVLAN_MODE_SOURCE)
        return ND_TYPE__MACVLAN;
    if (isPlainDeviceKind(link.kind))
        return ND_TYPE__PLAIN;
    if (external_ && external_(link))
        return ND_TYPE__EXTLINK;
    Error error(0, fmt::format("the network namespace of the tree has a device {} ({}), which can't be dumped",
                               link.name, link.kind.empty() ? "hardware" : link.kind));
    error.addHint(
        "dump with --external net[INODE]:NAME, and restore into a namespace prepared by other means; or take the "
        "device away");
    throw error;
}

void DeviceDump::warnOfLosses(const NetworkLink& link) const {
    if (!isOneOf(kUsualQueueing, link.queueing))
        log_.loss(Loss::Queueing, "Device {} has the queueing discipline {}, which isn't kept", link.name,
                  link.queueing);
    if (link.kind == "bridge" && numberIn<std::uint8_t>(link, IFLA_BR_VLAN_FILTERING).value_or(0) != 0)
        log_.loss(Loss::BridgeVlans, "Bridge {} filters by VLAN; the VLANs of its ports aren't kept", link.name);
    if (link.kind == "vxlan" && numberIn<std::uint8_t>(link, IFLA_VXLAN_VNIFILTER).value_or(0) != 0)
        log_.loss(Loss::Forwarding, "Device {} filters by VNI; its list of VNIs isn't kept", link.name);
    for (const std::uint16_t option : unknownOptions(link.kind, link.options))
        log_.loss(Loss::Forwarding, "Device {} has option {} of {}, which this criu doesn't know and doesn't keep",
                  link.name, option, link.kind);
}

const DeviceDump::Device* DeviceDump::find(std::uint32_t index) const {
    const auto found = std::find_if(devices_.begin(), devices_.end(),
                                    [&](const Device& device) { return device.link.index == index; });
    return found == devices_.end() ? nullptr : &*found;
}

void DeviceDump::warnOfTables() const {
    for (const kernel::Queueing& queueing : kernel::readQueueing())
        if (const Device* const device = find(queueing.device);
            device != nullptr && queueing.parent != TC_H_ROOT && !isOneOf(kUsualQueueing, queueing.kind))
            log_.loss(Loss::Queueing, "Device {} has the queueing discipline {} below its root, which isn't kept",
                      device->link.name, queueing.kind);
    std::map<std::uint32_t, std::size_t> entries;
    for (const std::uint32_t port : kernel::readStaticForwarding())
        ++entries[port];
    for (const auto& [port, count] : entries)
        if (const Device* const device = find(port); device != nullptr)
            log_.loss(Loss::Forwarding, "The forwarding table of {} has {} static {} for {} {}, which {} kept",
                      device->link.master ? "a bridge" : "a device", count, count == 1 ? "entry" : "entries",
                      device->link.master ? "port" : "device", device->link.name, count == 1 ? "isn't" : "aren't");
}

void DeviceDump::check() {
    for (NetworkLink& link : kernel::readLinks()) {
        if (isCreatedByKernel(link))
            continue;
        const NdType type = typeOf(link);
        if (link.hasProgram && type != ND_TYPE__EXTLINK)
            refuse(fmt::format("an XDP program is attached to device {}, which can't be dumped", link.name),
                   fmt::format("detach it: ip link set {} xdp off", link.name));
        if (type == ND_TYPE__PLAIN && link.peerNetwork)
            refuse(fmt::format("device {} ({}) is on a device of another network namespace, which can't be dumped",
                               link.name, link.kind),
                   "dump with --external net[INODE]:NAME, or take the device away");
        devices_.push_back({std::move(link), type});
    }
    for (const Device& device : devices_) {
        const auto& master = device.link.master;
        if (master && std::none_of(devices_.begin(), devices_.end(),
                                   [&](const Device& other) { return other.link.index == *master; }))
            refuse(fmt::format("device {} is a port of device {}, which can't be dumped", device.link.name, *master),
                   fmt::format("take it out of there: ip link set {} nomaster", device.link.name));
        warnOfLosses(device.link);
    }
    warnOfTables();
}

std::vector<NetDeviceEntry*> DeviceDump::entries(const TunDevices& tunDevices,
                                                 const std::map<std::int32_t, std::uint32_t>& numbers,
                                                 Arena& arena) const {
    std::vector<NetDeviceEntry*> entries;
    for (const auto& [link, type] : devices_) {
        NetDeviceEntry& device = *arena.make<NetDeviceEntry>();
        device.type = type;
        device.ifindex = link.index;
        device.mtu = link.mtu;
        device.flags = link.flags;
        device.name = arena.string(link.name);
        device.has_peer_ifindex = 1;
        device.peer_ifindex = link.peer.value_or(link.index);
        const auto peer = link.peerNetwork ? numbers.find(*link.peerNetwork) : numbers.end();
        if (!link.peerNetwork || peer != numbers.end()) {
            device.has_peer_nsid = 1;
            device.peer_nsid = link.peerNetwork ? peer->second : number_;
        }
        if (!link.address.empty() && type != ND_TYPE__LOOPBACK) {
            device.has_address = 1;
            device.address = arena.bytes(link.address);
        }
        if (link.master) {
            device.has_master = 1;
            device.master = *link.master;
            storeOptions(settablePortOptions(link.portOptions), device.n_port_options, device.port_options, arena);
        }
        if (type == ND_TYPE__PLAIN)
            device.kind = arena.string(link.kind);
        storeOptions(settableOptions(link.kind, link.options), device.n_options, device.options, arena);
        device.has_queue_length = 1;
        device.queue_length = link.queueLength;
        if (type == ND_TYPE__TUN)
            tunDevices.fill(number_, link, device, arena);
        if (type == ND_TYPE__MACVLAN)
            fillMacvlan(link, device, arena);
        readDeviceSettings(device, arena);
        entries.push_back(&device);
    }
    return entries;
}

}  // namespace criu::namespaces
