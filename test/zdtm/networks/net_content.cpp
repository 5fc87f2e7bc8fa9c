// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --network-lock skip
// zdtm: fails-with-4.2(from-other) saves the routes of the main table only
#include "network.hpp"
#include "zdtm.hpp"

// Compares the output of administration tools before and after the restore.
ZDTM("addresses, routes, rules, settings and packet filters of a network namespace") {
    zdtm::enter_new_network();
    for (const char* const command :
         {"ip link set lo mtu 40000", "ip addr add 10.11.12.13/24 dev lo", "ip addr add fd00:11::12/64 dev lo nodad",
          "ip route add 10.20.0.0/16 dev lo src 10.11.12.13", "ip route add blackhole 10.30.0.0/16",
          "ip route add 10.40.0.0/16 dev lo table 77", "ip -6 route add fd00:22::/64 dev lo",
          "ip rule add from 10.11.12.0/24 table 77 priority 99", "nft add table inet kept",
          "nft add set inet kept ports '{ type inet_service; elements = { 7, 9 }; }'",
          "nft add chain inet kept in '{ type filter hook input priority 5; policy accept; }'",
          "nft add rule inet kept in tcp dport @ports drop", "echo 1 >/proc/sys/net/ipv4/conf/all/forwarding",
          "echo 1 >/proc/sys/net/ipv4/conf/lo/arp_ignore", "echo 2 >/proc/sys/net/ipv6/conf/default/accept_ra",
          "echo 33 >/proc/sys/net/unix/max_dgram_qlen", "echo 5 77 >/proc/sys/net/ipv4/ping_group_range"})
        zdtm::output_of(command);
    // The kernel adds the local route of an IPv6 address a moment after the address.
    zdtm::output_of("until ip -6 route show table local | grep -q fd00:11::12; do sleep 0.1; done");
    const zdtm::Sights sights({"ip -o link", "ip -o addr show dev lo", "ip route show table all | sort",
                               "ip -6 route show table all | sort", "ip rule", "ip -6 rule", "nft list ruleset",
                               "grep . /proc/sys/net/ipv4/conf/*/*", "grep -s . /proc/sys/net/ipv6/conf/*/* || true",
                               "cat /proc/sys/net/unix/max_dgram_qlen", "cat /proc/sys/net/ipv4/ping_group_range"});
    me.wait_for_check();
    sights.check();
}
