// SPDX-License-Identifier: GPL-2.0-only
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/net/conntrack.hpp"
#include "criu/kernel/net/neighbours.hpp"
#include "criu/kernel/net/netlink.hpp"
#include "criu/kernel/net/queueing.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/namespaces/net/device_options.hpp"
#include "criu/namespaces/net/device_restore.hpp"
#include "criu/namespaces/net/saved_routes.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/sockets/namespace_lock.hpp"
#include "images/core.hpp"

using namespace criu;
using kernel::NamespaceKind;

namespace {

/// Returns the namespaces of a root that has private namespaces of these kinds only.
kernel::NamespaceIds idsWithOwn(std::initializer_list<NamespaceKind> own) {
    kernel::NamespaceIds ids;
    for (auto& id : ids.kinds)
        id = 1;
    for (const NamespaceKind kind : own)
        ids.kinds[static_cast<std::size_t>(kind)] = 2;
    return ids;
}

template <typename T>
std::vector<std::byte> asBytes(const T& value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    return {bytes, bytes + sizeof(value)};
}

}  // namespace

TEST_CASE("namespaces of the tree are numbered behind all of criu's") {
    const namespaces::ImageNsIds same(idsWithOwn({}), idsWithOwn({}));
    CHECK(same.ofCriu(NamespaceKind::Pid) == 1);
    CHECK(same.ofCriu(NamespaceKind::Net) == 2);
    CHECK(same.ofTree(NamespaceKind::Net) == 2);
    CHECK_FALSE(same.isOwn(NamespaceKind::Net));
    const namespaces::ImageNsIds one(idsWithOwn({}), idsWithOwn({NamespaceKind::Cgroup}));
    CHECK(one.ofTree(NamespaceKind::Cgroup) == 9);
    const namespaces::ImageNsIds two(idsWithOwn({}), idsWithOwn({NamespaceKind::Cgroup, NamespaceKind::Net}));
    CHECK(two.isOwn(NamespaceKind::Net));
    CHECK(two.ofTree(NamespaceKind::Net) == 9);
    CHECK(two.ofTree(NamespaceKind::Cgroup) == 10);
    CHECK(two.ofTree(NamespaceKind::Mount) == 6);

    TaskKobjIdsEntry ids = TASK_KOBJ_IDS_ENTRY__INIT;
    CHECK_FALSE(namespaces::numberOf(ids, NamespaceKind::Net));
    two.storeCriu(ids);
    CHECK(namespaces::numberOf(ids, NamespaceKind::Net) == 2);
    namespaces::storeNumber(ids, NamespaceKind::Net, 9);
    CHECK(namespaces::numberOf(ids, NamespaceKind::Net) == 9);
    CHECK(namespaces::numberOf(ids, NamespaceKind::Cgroup) == 8);
}

TEST_CASE("a namespace's lock by iptables is taken back however often it was put") {
    CHECK(sockets::iptablesNamespaceUnlock("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\nCOMMIT\n").empty());
    const std::string lines = sockets::iptablesNamespaceUnlock(
        "*filter\n:INPUT ACCEPT [0:0]\n:CRIU - [0:0]\n-A INPUT -j CRIU\n-A INPUT -j CRIU\n-A OUTPUT -j CRIU\n"
        "-A CRIU -j DROP\nCOMMIT\n");
    CHECK(lines == "*filter\n-D INPUT -j CRIU\n-D INPUT -j CRIU\n-D OUTPUT -j CRIU\n-F CRIU\n-X CRIU\nCOMMIT\n");
}

TEST_CASE("descriptions of devices that are cut off are refused") {
    const std::byte few[7] = {};
    CHECK_THROWS_AS(kernel::parseLink(few), Error);
    const std::byte bare[16] = {};
    CHECK(kernel::parseLink(bare).name.empty());
}

TEST_CASE("a tun device's owner and flags") {
    const auto description = [](std::string_view kind, std::uint8_t packetInfo, bool whole) {
        kernel::NetlinkMessage message(RTM_NEWLINK, 0, ifinfomsg{});
        message.attribute(IFLA_IFNAME, std::string_view("t0"));
        message.nested(IFLA_LINKINFO, [&] {
            message.attribute(IFLA_INFO_KIND, kind);
            message.nested(IFLA_INFO_DATA, [&] {
                message.number(IFLA_TUN_TYPE, std::uint8_t{IFF_TAP});
                message.number(IFLA_TUN_PI, packetInfo);
                message.number(IFLA_TUN_MULTI_QUEUE, std::uint8_t{1});
                if (whole)
                    message.number(IFLA_TUN_OWNER, std::uint32_t{1000});
                else
                    message.attribute(IFLA_TUN_PERSIST, nullptr, 0);
            });
        });
        return kernel::parseLink(message.bytes().subspan(sizeof(nlmsghdr)));
    };
    const kernel::NetworkLink tap = description("tun", 0, true);
    REQUIRE(tap.tun);
    CHECK(tap.tun->flags == (IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE));
    CHECK(tap.tun->user == 1000);
    CHECK(tap.tun->group == -1);
    const kernel::NetworkLink cut = description("tun", 1, false);
    REQUIRE(cut.tun);
    CHECK(cut.tun->flags == (IFF_TAP | IFF_MULTI_QUEUE));
    CHECK(cut.tun->user == -1);
    CHECK_FALSE(description("veth", 1, true).tun);
}

TEST_CASE("damaged lists of tracked connections are refused") {
    std::byte bytes[64] = {};
    nlmsghdr header{};
    const auto write = [&](std::uint32_t length, std::uint16_t type) {
        header.nlmsg_len = length;
        header.nlmsg_type = type;
        std::memcpy(bytes, &header, sizeof(header));
        kernel::writeConntrack(kernel::ConntrackTable::Connections, bytes);
    };
    CHECK_THROWS_AS(write(0, NFNL_SUBSYS_CTNETLINK << 8), Error);
    CHECK_THROWS_AS(write(sizeof(header), NFNL_SUBSYS_CTNETLINK << 8), Error);
    CHECK_THROWS_AS(write(65, NFNL_SUBSYS_CTNETLINK << 8), Error);
    CHECK_THROWS_AS(write(64, NFNL_SUBSYS_QUEUE << 8), Error);
}

TEST_CASE("routes that come with addresses are left out, others aren't") {
    const auto route = [](unsigned char table, unsigned char protocol) {
        nlmsghdr header{};
        rtmsg fixed{};
        header.nlmsg_len = NLMSG_LENGTH(sizeof(fixed));
        fixed.rtm_table = table;
        fixed.rtm_protocol = protocol;
        return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
               std::string(reinterpret_cast<const char*>(&fixed), sizeof(fixed));
    };
    const std::string mine = route(RT_TABLE_LOCAL, RTPROT_STATIC);
    const std::string main = route(RT_TABLE_MAIN, RTPROT_KERNEL);
    const std::string own = route(RT_TABLE_LOCAL, RTPROT_KERNEL);
    CHECK(namespaces::cleanedRoutes("MAGI" + own + mine + own + main) == "MAGI" + mine + main);
    CHECK(namespaces::cleanedRoutes("").empty());
    CHECK_THROWS_AS(namespaces::cleanedRoutes("MAGI" + main.substr(0, 27)), Error);
}

TEST_CASE("routes are put back without what the kernel said of carriers") {
    const auto route = [](unsigned flags, unsigned char hopFlags) {
        rtmsg fixed{};
        fixed.rtm_flags = flags | RTM_F_CLONED;
        kernel::NetlinkMessage message(RTM_NEWROUTE, 0, fixed);
        message.number(RTA_OIF, 3);
        rtnexthop hops[2] = {};
        hops[0].rtnh_len = hops[1].rtnh_len = sizeof(rtnexthop);
        hops[1].rtnh_flags = hopFlags | RTNH_F_ONLINK;
        message.attribute(RTA_MULTIPATH, hops, sizeof(hops));
        const auto bytes = message.bytes();
        return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    const std::string plain = route(0, 0);
    CHECK(namespaces::cleanedRoutes("MAGI" + plain) == "MAGI" + plain);
    CHECK(namespaces::cleanedRoutes("MAGI" + route(RTNH_F_LINKDOWN, RTNH_F_DEAD)) == "MAGI" + plain);
}

TEST_CASE("a device's master, its peer's namespace and what its driver tells") {
    kernel::NetlinkMessage message(RTM_NEWLINK, 0, ifinfomsg{});
    message.number(IFLA_MASTER, 7);
    message.number(IFLA_LINK, 8);
    message.number(IFLA_LINK_NETNSID, 0);
    message.number(IFLA_TXQLEN, 77);
    message.nested(IFLA_LINKINFO, [&] {
        message.attribute(IFLA_INFO_KIND, std::string_view("bridge"));
        message.nested(IFLA_INFO_DATA, [&] {
            message.number(IFLA_BR_AGEING_TIME, 300);
            message.number(IFLA_BR_GC_TIMER, 5);
        });
        message.nested(IFLA_INFO_SLAVE_DATA, [&] {
            message.number(IFLA_BRPORT_STATE, std::uint8_t{3});
            message.number(IFLA_BRPORT_COST, 9);
        });
    });
    const kernel::NetworkLink link = kernel::parseLink(message.bytes().subspan(sizeof(nlmsghdr)));
    CHECK(link.master == 7U);
    CHECK(link.peer == 8U);
    CHECK(link.peerNetwork == 0);
    CHECK(link.queueLength == 77);

    const auto options = namespaces::settableOptions(link.kind, link.options);
    REQUIRE(options.size() == 1);
    CHECK(options[0].type == IFLA_BR_AGEING_TIME);
    CHECK(namespaces::settableOptions("dummy", link.options).empty());
    // A vlan device without flags gets the option that clears the flag of a new device; other masks are cut.
    const std::vector<kernel::LinkOption> cleared = {{IFLA_VLAN_FLAGS, asBytes(ifla_vlan_flags{0, 1})}};
    CHECK(namespaces::settableOptions("vlan", {}) == cleared);
    const std::vector<kernel::LinkOption> shown = {{IFLA_VLAN_FLAGS, asBytes(ifla_vlan_flags{3, ~0U})}};
    const std::vector<kernel::LinkOption> cut = {{IFLA_VLAN_FLAGS, asBytes(ifla_vlan_flags{3, 0x1f})}};
    CHECK(namespaces::settableOptions("vlan", shown) == cut);
    // The kernel shows TTL_INHERIT as a number, and takes it as a flag.
    const std::vector<kernel::LinkOption> inherits = {{IFLA_VXLAN_TTL_INHERIT, {std::byte{1}}}};
    const std::vector<kernel::LinkOption> asFlag = {{IFLA_VXLAN_TTL_INHERIT, {}}};
    CHECK(namespaces::settableOptions("vxlan", inherits) == asFlag);
    const std::vector<kernel::LinkOption> fixed = {{IFLA_VXLAN_TTL_INHERIT, {std::byte{0}}}};
    CHECK(namespaces::settableOptions("vxlan", fixed).empty());
    // The headers of Debian 12 lack IFLA_VXLAN_RESERVED_BITS (33).
    const std::vector<kernel::LinkOption> newer = {{33, asBytes(std::uint64_t{7})}};
    CHECK(namespaces::settableOptions("vxlan", newer) == newer);
    CHECK(namespaces::unknownOptions("vxlan", newer).empty());
    const std::vector<kernel::LinkOption> newest = {{200, {std::byte{0}}}, {201, {std::byte{1}}}};
    CHECK(namespaces::settableOptions("vxlan", newest).empty());
    CHECK(namespaces::unknownOptions("vxlan", newest) == std::vector<std::uint16_t>{201});
    CHECK(namespaces::unknownOptions("dummy", newest).empty());
    const std::vector<kernel::LinkOption> above = {{IFLA_VXLAN_LINK, asBytes(std::uint32_t{31})}};
    CHECK(namespaces::lowerInOptions("vxlan", above) == 31);
    CHECK_FALSE(namespaces::lowerInOptions("vlan", above));
    const auto port = namespaces::settablePortOptions(link.portOptions);
    REQUIRE(port.size() == 1);
    CHECK(port[0].type == IFLA_BRPORT_COST);

    Arena arena;
    std::size_t count = 0;
    LinkOptionEntry** entries = nullptr;
    namespaces::storeOptions(options, count, entries, arena);
    CHECK(namespaces::loadOptions(count, entries) == options);
    entries[0]->type = 70000;
    CHECK_THROWS_AS(namespaces::loadOptions(count, entries), Error);
}

TEST_CASE("devices that can't be made again are refused while images are read") {
    Log log;
    const auto check = [&](const std::function<void(NetDeviceEntry&)>& change, model::Options options = {}) {
        auto* const entry = static_cast<NetDeviceEntry*>(std::calloc(1, sizeof(NetDeviceEntry)));
        net_device_entry__init(entry);
        entry->type = ND_TYPE__BRIDGE;
        entry->ifindex = 7;
        entry->name = ::strdup("br0");
        change(*entry);
        std::vector<Record<NetDeviceEntry>> devices;
        devices.emplace_back(entry);
        const namespaces::DevicesOf all[] = {{9, -1, devices}};
        namespaces::DeviceRestore(options, log).check(all);
    };
    CHECK_NOTHROW(check([](NetDeviceEntry&) {}));
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) { device.ifindex = 0; }), Error);
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) { device.ifindex = 0x80000000U; }), Error);
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) { device.type = ND_TYPE__VENET; }), Error);
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) { device.type = ND_TYPE__PLAIN; }), Error);
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) { device.type = ND_TYPE__MACVLAN; }), Error);
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) {
                        std::free(device.name);
                        device.name = ::strdup("a-name-that-is-too-long");
                    }),
                    Error);
    model::Options options;
    options.externals = {{model::ExternalType::Netdev, "br0", "no-such-device"}};
    CHECK_THROWS_AS(check([](NetDeviceEntry&) {}, options), Error);
    options.externals = {{model::ExternalType::Veth, "br0", "outer@no-such-bridge"}};
    CHECK_THROWS_AS(check([](NetDeviceEntry& device) { device.type = ND_TYPE__VETH; }, options), Error);
}

TEST_CASE("neighbours that were entered for good, and others") {
    const auto described = [](std::uint16_t state, int family) {
        ndmsg fixed{};
        fixed.ndm_family = static_cast<unsigned char>(family);
        fixed.ndm_ifindex = 5;
        fixed.ndm_state = state;
        fixed.ndm_flags = NTF_ROUTER;
        kernel::NetlinkMessage message(RTM_NEWNEIGH, 0, fixed);
        message.number(NDA_DST, std::uint32_t{0x0100000a});
        message.attribute(NDA_LLADDR, std::string_view("\2\0\0\0\0\7", 6));
        return kernel::parseNeighbour(message.bytes().subspan(sizeof(nlmsghdr)));
    };
    const auto kept = described(NUD_PERMANENT, AF_INET);
    REQUIRE(kept);
    CHECK(kept->device == 5);
    CHECK(kept->flags == NTF_ROUTER);
    CHECK(kept->address.size() == 4);
    CHECK(kept->linkAddress.size() == 6);
    CHECK_FALSE(described(NUD_REACHABLE, AF_INET));
    CHECK_FALSE(described(NUD_PERMANENT, AF_BRIDGE));
    const std::byte few[3] = {};
    CHECK_THROWS_AS(kernel::parseNeighbour(few), Error);
}

TEST_CASE("queueing disciplines of tc") {
    tcmsg fixed{};
    fixed.tcm_ifindex = 5;
    fixed.tcm_parent = TC_H_INGRESS;
    kernel::NetlinkMessage message(RTM_NEWQDISC, 0, fixed);
    message.attribute(TCA_KIND, std::string_view("clsact\0", 7));
    const kernel::Queueing queueing = kernel::parseQueueing(message.bytes().subspan(sizeof(nlmsghdr)));
    CHECK((queueing.device == 5 && queueing.parent == TC_H_INGRESS && queueing.kind == "clsact"));
    const std::byte few[3] = {};
    CHECK_THROWS_AS(kernel::parseQueueing(few), Error);
}

TEST_CASE("further namespaces have numbers that no other has") {
    namespaces::ImageNsIds numbers(idsWithOwn({}), idsWithOwn({NamespaceKind::Net}));
    const std::uint32_t first = numbers.addOther();
    CHECK(first > 2 * kernel::kNamespaceKinds);
    CHECK(numbers.addOther() == first + 1);
}
