// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/network_dump.hpp"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/conntrack.hpp"
#include "criu/kernel/nftables.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/program.hpp"
#include "criu/namespaces/network_programs.hpp"
#include "criu/namespaces/network_settings.hpp"
#include "criu/namespaces/saved_routes.hpp"

namespace criu::namespaces {
namespace {

using kernel::NetworkLink;

/// Devices that drivers put into every new namespace.
constexpr std::pair<std::string_view, std::string_view> kOfEveryNamespace[] = {
    {"sit", "sit0"},       {"ipip", "tunl0"},     {"gre", "gre0"},    {"gretap", "gretap0"}, {"erspan", "erspan0"},
    {"ip6tnl", "ip6tnl0"}, {"ip6gre", "ip6gre0"}, {"vti", "ip_vti0"}, {"vti6", "ip6_vti0"},
};

bool comesByItself(const NetworkLink& link) {
    const bool known = std::any_of(std::begin(kOfEveryNamespace), std::end(kOfEveryNamespace), [&](const auto& device) {
        return link.kind == device.first && link.name == device.second;
    });
    return known && (link.flags & IFF_UP) == 0;
}

bool hasIpv6() {
    return kernel::ProcDir().self().tryReadFile("net/if_inet6").has_value();
}

/// Whether the old kernel interface of iptables has been used in this namespace.
bool hasLegacyRules(int family) {
    // By the thread: others of this process may be elsewhere.
    const auto names = kernel::ProcDir()
                           .self()
                           .thread(::gettid())
                           .tryReadFile(family == AF_INET ? "net/ip_tables_names" : "net/ip6_tables_names");
    return names && !names->empty();
}

/// ip(8) saves the rules of IPv4 only. These are what IPv6 has by itself: the tables local and main.
void refuseRules6() {
    constexpr std::uint32_t kMain = 32766;
    std::vector<std::uint32_t> priorities = kernel::readRulePriorities(AF_INET6);
    std::sort(priorities.begin(), priorities.end());
    if (!priorities.empty() && priorities != std::vector<std::uint32_t>{0, kMain})
        fail(
            "the network namespace of the tree has other IPv6 routing rules than every new one (priorities {}), which "
            "can't be dumped yet",
            fmt::join(priorities, ", "));
}

}  // namespace

void NetworkDump::check() {
    if (externalName_)
        return;
    for (NetworkLink& link : kernel::readLinks()) {
        if (comesByItself(link))
            continue;
        if (link.hardware != ARPHRD_LOOPBACK && !link.tun) {
            Error error(0, fmt::format("the network namespace of the tree has a device {} ({}), which can't be dumped "
                                       "yet",
                                       link.name, link.kind.empty() ? "hardware" : link.kind));
            error.addHint("dump with --external net[INODE]:NAME, and restore into a namespace prepared by other means");
            throw error;
        }
        if (link.hasProgram)
            fail("an XDP program is attached to device {}, which can't be dumped", link.name);
        links_.push_back(std::move(link));
    }
    refuseRules6();
    (void)ipProgram();
    for (const int family : {AF_INET, AF_INET6})
        if (hasLegacyRules(family))
            (void)legacyIptables(family, "save");
    if (!kernel::Nftables::available()) {
        Error error(0, "the packet filter's rules in the tree's network namespace can't be read without libnftables");
        error.addHint("install libnftables");
        throw error;
    }
}

void NetworkDump::write(const ImageDir& images, const TunDevices& tunDevices) {
    for (const ImageKind kind : {ImageKind::Netns, ImageKind::Netdev, ImageKind::Ifaddr, ImageKind::Route,
                                 ImageKind::Route6, ImageKind::Rule, ImageKind::Iptables, ImageKind::Ip6tables,
                                 ImageKind::Nftables, ImageKind::Conntrack, ImageKind::ConntrackExpect})
        images.unlink(kind, number_);
    writeSettings(images, tunDevices);
    if (externalName_)
        return;
    const std::string ip = ipProgram();
    const auto saved = [&](std::vector<std::string> arguments) {
        return kernel::runProgram(ip, std::move(arguments), {});
    };
    writeText(images, ImageKind::Ifaddr, saved({"addr", "save"}));
    writeText(images, ImageKind::Route, withoutOwnRoutes(saved({"route", "save", "table", "all"})));
    if (hasIpv6())
        writeText(images, ImageKind::Route6, withoutOwnRoutes(saved({"-6", "route", "save", "table", "all"})));
    writeText(images, ImageKind::Rule, saved({"rule", "save"}));
    for (const int family : {AF_INET, AF_INET6})
        if (hasLegacyRules(family))
            writeText(images, family == AF_INET ? ImageKind::Iptables : ImageKind::Ip6tables,
                      kernel::runProgram(legacyIptables(family, "save"), {}, {}));
    writeText(images, ImageKind::Nftables, kernel::Nftables().run("list ruleset"));
    const auto connections = [&](ImageKind kind, kernel::ConntrackTable table) {
        const std::vector<std::byte> entries = kernel::readConntrack(table);
        writeText(images, kind, {reinterpret_cast<const char*>(entries.data()), entries.size()});
    };
    connections(ImageKind::Conntrack, kernel::ConntrackTable::Connections);
    connections(ImageKind::ConntrackExpect, kernel::ConntrackTable::Expectations);
}

void NetworkDump::writeSettings(const ImageDir& images, const TunDevices& tunDevices) {
    Arena arena;
    NetnsEntry& network = *arena.make<NetnsEntry>();
    if (externalName_)
        network.ext_key = arena.string(*externalName_);
    else
        readNetworkSettings(network, arena);
    ImageWriter image = images.create(ImageKind::Netns, number_);
    image.write(network);
    image.finish();
    if (externalName_)
        return;

    ImageWriter devices = images.create(ImageKind::Netdev, number_);
    for (const NetworkLink& link : links_) {
        NetDeviceEntry& device = *arena.make<NetDeviceEntry>();
        device.type = ND_TYPE__LOOPBACK;
        device.ifindex = link.index;
        device.mtu = link.mtu;
        device.flags = link.flags;
        device.name = arena.string(link.name);
        device.has_peer_ifindex = device.has_peer_nsid = 1;
        device.peer_ifindex = link.peer.value_or(link.index);
        device.peer_nsid = number_;
        if (link.tun)
            tunDevices.fill(link, device, arena);
        readDeviceSettings(device, arena);
        devices.write(device);
    }
    devices.finish();
    log_.info("The network namespace has {} devices", links_.size());
}

void NetworkDump::writeText(const ImageDir& images, ImageKind kind, std::string_view text) const {
    if (text.empty())
        return;
    if (text.size() > kLargestSaved)
        fail("the network namespace of the tree is too large: {} bytes for {}", text.size(), imageName(kind, number_));
    ImageWriter image = images.create(kind, number_);
    image.payload(std::as_bytes(std::span(text)));
    image.finish();
}

}  // namespace criu::namespaces
