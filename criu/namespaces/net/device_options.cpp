// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/device_options.hpp"

#include <linux/if_link.h>
#include <linux/if_vlan.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::namespaces {
namespace {

using kernel::LinkOption;
using Types = std::span<const std::uint16_t>;

// Options of a bridge that ip-link(8) can set, except the group address: the kernel derives it.
constexpr std::uint16_t kBridge[] = {IFLA_BR_FORWARD_DELAY,
                                     IFLA_BR_HELLO_TIME,
                                     IFLA_BR_MAX_AGE,
                                     IFLA_BR_AGEING_TIME,
                                     IFLA_BR_STP_STATE,
                                     IFLA_BR_PRIORITY,
                                     IFLA_BR_VLAN_FILTERING,
                                     IFLA_BR_VLAN_PROTOCOL,
                                     IFLA_BR_GROUP_FWD_MASK,
                                     IFLA_BR_MCAST_ROUTER,
                                     IFLA_BR_MCAST_SNOOPING,
                                     IFLA_BR_MCAST_QUERY_USE_IFADDR,
                                     IFLA_BR_MCAST_QUERIER,
                                     IFLA_BR_MCAST_HASH_MAX,
                                     IFLA_BR_MCAST_LAST_MEMBER_CNT,
                                     IFLA_BR_MCAST_STARTUP_QUERY_CNT,
                                     IFLA_BR_MCAST_LAST_MEMBER_INTVL,
                                     IFLA_BR_MCAST_MEMBERSHIP_INTVL,
                                     IFLA_BR_MCAST_QUERIER_INTVL,
                                     IFLA_BR_MCAST_QUERY_INTVL,
                                     IFLA_BR_MCAST_QUERY_RESPONSE_INTVL,
                                     IFLA_BR_MCAST_STARTUP_QUERY_INTVL,
                                     IFLA_BR_NF_CALL_IPTABLES,
                                     IFLA_BR_NF_CALL_IP6TABLES,
                                     IFLA_BR_NF_CALL_ARPTABLES,
                                     IFLA_BR_VLAN_DEFAULT_PVID,
                                     IFLA_BR_VLAN_STATS_ENABLED,
                                     IFLA_BR_MCAST_STATS_ENABLED,
                                     IFLA_BR_MCAST_IGMP_VERSION,
                                     IFLA_BR_MCAST_MLD_VERSION,
                                     IFLA_BR_VLAN_STATS_PER_PORT};
// Options of a bridge port, except the state of the port: the bridge controls it.
constexpr std::uint16_t kBridgePort[] = {IFLA_BRPORT_PRIORITY,
                                         IFLA_BRPORT_COST,
                                         IFLA_BRPORT_MODE,
                                         IFLA_BRPORT_GUARD,
                                         IFLA_BRPORT_PROTECT,
                                         IFLA_BRPORT_FAST_LEAVE,
                                         IFLA_BRPORT_LEARNING,
                                         IFLA_BRPORT_UNICAST_FLOOD,
                                         IFLA_BRPORT_PROXYARP,
                                         IFLA_BRPORT_PROXYARP_WIFI,
                                         IFLA_BRPORT_MULTICAST_ROUTER,
                                         IFLA_BRPORT_MCAST_FLOOD,
                                         IFLA_BRPORT_MCAST_TO_UCAST,
                                         IFLA_BRPORT_VLAN_TUNNEL,
                                         IFLA_BRPORT_BCAST_FLOOD,
                                         IFLA_BRPORT_GROUP_FWD_MASK,
                                         IFLA_BRPORT_NEIGH_SUPPRESS,
                                         IFLA_BRPORT_ISOLATED};

constexpr std::uint16_t kVlan[] = {IFLA_VLAN_ID, IFLA_VLAN_FLAGS, IFLA_VLAN_EGRESS_QOS, IFLA_VLAN_INGRESS_QOS,
                                   IFLA_VLAN_PROTOCOL};
constexpr std::uint16_t kIpvlan[] = {IFLA_IPVLAN_MODE, IFLA_IPVLAN_FLAGS};

// Options of a vxlan device that the kernel shows as a number and takes as a flag without a value.
constexpr std::uint16_t kVxlanFlags[] = {IFLA_VXLAN_TTL_INHERIT};
// Largest option of a vxlan device that criu knows, IFLA_VXLAN_MC_ROUTE. The headers of Debian 12 lack this option,
// IFLA_VXLAN_LOCALBYPASS (Linux 6.5), IFLA_VXLAN_LABEL_POLICY (6.7) and IFLA_VXLAN_RESERVED_BITS (6.14).
constexpr std::uint16_t kLastVxlan = 34;
// Options of a vxlan device that the kernel always shows, and refuses in some cases although they are 0: the label
// policy (32) without IPv6, and IFLA_VXLAN_REMCSUM_RX beside reserved bits (vxlan_nl2conf(), Linux 6.18).
constexpr std::uint16_t kVxlanNonZero[] = {32, IFLA_VXLAN_REMCSUM_RX};

bool contains(Types types, std::uint16_t type) {
    return std::find(types.begin(), types.end(), type) != types.end();
}

bool isZero(const LinkOption& option) {
    return std::all_of(option.value.begin(), option.value.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

/// Returns the options of a vxlan device in the form in which the kernel takes them.
std::vector<LinkOption> vxlanOptions(std::span<const LinkOption> told) {
    std::vector<LinkOption> kept;
    for (const LinkOption& option : told) {
        if (option.type == IFLA_VXLAN_UNSPEC || option.type > kLastVxlan ||
            (contains(kVxlanNonZero, option.type) && isZero(option)))
            continue;
        if (!contains(kVxlanFlags, option.type))
            kept.push_back(option);
        else if (option.value.empty() || option.value.front() != std::byte{0})
            kept.push_back({option.type, {}});
    }
    return kept;
}

/// Returns the options of a vlan device in the form in which the kernel takes them. The kernel doesn't show flags if
/// none is set, although a new device has one. It shows a mask of all bits, and refuses unknown bits of a mask.
std::vector<LinkOption> vlanOptions(std::vector<LinkOption> told) {
    constexpr std::uint32_t kKnownFlags =
        VLAN_FLAG_REORDER_HDR | VLAN_FLAG_GVRP | VLAN_FLAG_LOOSE_BINDING | VLAN_FLAG_MVRP | VLAN_FLAG_BRIDGE_BINDING;
    ifla_vlan_flags flags{0, VLAN_FLAG_REORDER_HDR};
    for (auto at = told.begin(); at != told.end();) {
        if (at->type != IFLA_VLAN_FLAGS) {
            ++at;
            continue;
        }
        if (at->value.size() == sizeof(flags))
            std::memcpy(&flags, at->value.data(), sizeof(flags));
        flags.mask = kKnownFlags;
        at = told.erase(at);
    }
    const auto* const bytes = reinterpret_cast<const std::byte*>(&flags);
    told.push_back({IFLA_VLAN_FLAGS, {bytes, bytes + sizeof(flags)}});
    return told;
}

std::vector<LinkOption> only(Types types, std::span<const LinkOption> told) {
    std::vector<LinkOption> kept;
    std::copy_if(told.begin(), told.end(), std::back_inserter(kept),
                 [&](const LinkOption& option) { return contains(types, option.type); });
    return kept;
}

}  // namespace

std::vector<LinkOption> settableOptions(std::string_view kind, std::span<const LinkOption> told) {
    if (kind == "bridge")
        return only(kBridge, told);
    if (kind == "vlan")
        return vlanOptions(only(kVlan, told));
    if (kind == "ipvlan")
        return only(kIpvlan, told);
    if (kind == "vxlan")
        return vxlanOptions(told);
    return {};
}

std::vector<std::uint16_t> unknownOptions(std::string_view kind, std::span<const LinkOption> told) {
    std::vector<std::uint16_t> unknown;
    for (const LinkOption& option : told)
        if (kind == "vxlan" && option.type > kLastVxlan && !isZero(option))
            unknown.push_back(option.type);
    return unknown;
}

std::vector<LinkOption> creationOptions(std::string_view kind, std::vector<LinkOption> wanted) {
    return kind == "bridge" ? std::vector<LinkOption>() : std::move(wanted);
}

bool needsLower(std::string_view kind) noexcept {
    return kind == "vlan" || kind == "ipvlan";
}

std::optional<std::uint32_t> lowerInOptions(std::string_view kind, std::span<const LinkOption> options) {
    for (const LinkOption& option : options)
        if (kind == "vxlan" && option.type == IFLA_VXLAN_LINK && option.value.size() == sizeof(std::uint32_t)) {
            std::uint32_t index = 0;
            std::memcpy(&index, option.value.data(), sizeof(index));
            return index;
        }
    return std::nullopt;
}

std::vector<LinkOption> settablePortOptions(std::span<const LinkOption> told) {
    return only(kBridgePort, told);
}

void storeOptions(std::span<const LinkOption> options, std::size_t& count, LinkOptionEntry**& entries, Arena& arena) {
    count = options.size();
    entries = arena.messages<LinkOptionEntry>(count);
    for (std::size_t i = 0; i < count; ++i) {
        entries[i]->type = options[i].type;
        entries[i]->value = arena.bytes(options[i].value);
    }
}

std::vector<LinkOption> loadOptions(std::size_t count, LinkOptionEntry* const* entries) {
    std::vector<LinkOption> options;
    for (const LinkOptionEntry* const entry : std::span(entries, count)) {
        constexpr std::size_t kLargest = 4096;  // no valid option is larger: all of them are numbers
        if (entry->type > UINT16_MAX || entry->value.len > kLargest)
            fail("option {} of a network device, {} bytes, isn't one", entry->type, entry->value.len);
        const auto* const bytes = reinterpret_cast<const std::byte*>(entry->value.data);
        options.push_back({static_cast<std::uint16_t>(entry->type), {bytes, bytes + entry->value.len}});
    }
    return options;
}

}  // namespace criu::namespaces
