// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/device_options.hpp"

#include <linux/if_link.h>

#include <algorithm>
#include <iterator>

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

std::vector<LinkOption> only(Types types, std::span<const LinkOption> told) {
    std::vector<LinkOption> kept;
    std::copy_if(told.begin(), told.end(), std::back_inserter(kept), [&](const LinkOption& option) {
        return std::find(types.begin(), types.end(), option.type) != types.end();
    });
    return kept;
}

}  // namespace

std::vector<LinkOption> settableOptions(std::string_view kind, std::span<const LinkOption> told) {
    return kind == "bridge" ? only(kBridge, told) : std::vector<LinkOption>();
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
