// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running,terminated,killed,restore-terminated
// zdtm: fails-with-4.2 it refuses vlan and ipvlan devices
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("vlan and ipvlan devices of a network namespace, one above the other") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add veth0 index 31 type veth peer name veth1 index 32");
    if (system("ip link add link veth0 name vlan7 index 20 type vlan id 7 reorder_hdr off ingress-qos-map 1:2 "
               "egress-qos-map 3:4 2>/dev/null") != 0)
        zdtm::skip("no vlan devices here");
    for (const char* const command :
         {"ip link add link vlan7 name double index 19 type vlan id 8 protocol 802.1ad",
          "ip link add ipv0 index 50 link veth1 type ipvlan mode l3 private || true", "ip link set veth0 up",
          "ip link set veth1 up", "ip link set vlan7 mtu 1400 up", "ip link set double mtu 1300 up",
          "ip addr add 10.7.0.1/24 dev vlan7", "ip addr add 10.8.0.1/24 dev double"})
        zdtm::output_of(command);
    const zdtm::Sights sights({"ip -o -d link | sed -E 's, (state|addrgenmode) [A-Za-z0-9_]*,,g; s,numtxqueues.*,,'",
                               "ip -o -4 addr", "ip -4 route show table all | sort"});
    me.wait_for_check();
    sights.check();
}
