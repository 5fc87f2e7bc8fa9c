// SPDX-License-Identifier: GPL-2.0-only
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a bridge with a port that is one end of a veth pair") {
    zdtm::enter_new_network();
    for (const char* const command :
         {"ip link add veth0 index 31 address 02:00:00:00:00:31 mtu 1400 type veth peer name veth1 index 32 address "
          "02:00:00:00:00:32",
          "ip link add br0 index 40 address 02:00:00:00:00:40 type bridge", "ip link set veth1 master br0",
          "ip link set veth0 up", "ip link set veth1 up", "ip link set br0 up", "ip addr add 10.1.0.1/24 dev veth0",
          "ip addr add 10.1.0.2/24 dev br0", "ip addr add fd00:9::1/64 nodad dev br0",
          "ip route add 10.77.0.0/16 via 10.1.0.9 dev veth0", "echo 1 >/proc/sys/net/ipv4/conf/veth0/arp_ignore"})
        zdtm::output_of(command);
    const zdtm::Sights sights({"ip -o link | sed -E 's,<.*> ,,; s, state [A-Z]*,,; s,qdisc [a-z]*,,'", "ip -o -4 addr",
                               "ip -o -6 addr show scope global", "ip route | sed 's, linkdown,,'",
                               "cat /proc/sys/net/ipv4/conf/veth0/arp_ignore"});
    me.wait_for_check();
    sights.check();
}
