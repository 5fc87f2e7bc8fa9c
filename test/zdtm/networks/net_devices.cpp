// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running,terminated,killed,to-other,from-other,restore-terminated
// zdtm: fails-with-4.2(from-other) keeps neither options of bridges nor lengths of queues
// zdtm: fails-with-4.2(to-other) doesn't know devices of kind ifb
#include "network.hpp"
#include "zdtm.hpp"

// Compares the output of administration tools before and after the restore.
ZDTM("devices of a network namespace: a bridge with ports, a veth pair, macvlan, plain devices") {
    zdtm::enter_new_network();
    for (const char* const command :
         {"ip link add br0 index 40 address 02:00:00:00:00:40 type bridge forward_delay 700 ageing_time 1234 "
          "mcast_snooping 0",
          "ip link add veth0 index 31 address 02:00:00:00:00:31 mtu 1400 txqueuelen 77 type veth peer name veth1 index "
          "32 "
          "address 02:00:00:00:00:32",
          "ip link set veth1 master br0", "bridge link set dev veth1 hairpin on learning off priority 9",
          "ip link add mac0 index 50 link veth0 address 02:00:00:00:00:50 type macvlan mode bridge",
          "ip link set veth0 up", "ip link set veth1 up", "ip link set br0 up", "ip link set mac0 up",
          "ip link add twoifb index 60 address 02:00:00:00:00:60 type ifb", "ip link set twoifb arp off",
          "ip addr add 10.1.0.1/24 dev veth0", "ip addr add 10.1.0.2/24 dev br0",
          "ip addr add fd00:9::1/64 nodad dev br0",
          "ip neigh add 10.1.0.7 lladdr 02:00:00:00:00:77 dev veth0 nud permanent",
          "ip neigh add fd00:9::7 lladdr 02:00:00:00:00:78 dev br0 nud permanent router",
          "ip route add 10.77.0.0/16 via 10.1.0.9 dev veth0", "echo 1 >/proc/sys/net/ipv4/conf/veth0/arp_ignore"})
        zdtm::output_of(command);
    const zdtm::Sights sights(
        {"ip -o -d link | sed -E 's, (state|addrgenmode) [A-Za-z0-9_]*,,g; s,[a-z_]*_timer +[0-9.]*,,g;"
         " s,<[^>]*>,,; s,numtxqueues.*,,'",
         "ip -o link | sed -E 's,.*<([^>]*)>.*,\\1,' | sed 's/,LOWER_UP//;s/NO-CARRIER,//'",
         "ip neigh show nud permanent | sort", "ip -o -4 addr", "ip -o -6 addr show scope global",
         "ip -4 route show table all | sed 's, linkdown,,' | sort", "cat /proc/sys/net/ipv4/conf/veth0/arp_ignore",
         "cat /sys/class/net/br0/bridge/ageing_time 2>/dev/null || true"});
    me.wait_for_check();

    sights.check();
}
