// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running,terminated,killed,restore-terminated
// zdtm: fails-with-4.2 it refuses vxlan devices
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("vxlan devices of a network namespace, one of them a port of a bridge") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add veth0 index 31 type veth peer name veth1 index 32");
    if (system("ip link add probe type vxlan id 5 dstport 4789 2>/dev/null && ip link del probe") != 0)
        zdtm::skip("no vxlan devices here");
    for (const char* const command :
         {"ip link add br0 index 40 type bridge", "ip addr add 10.9.0.1/24 dev veth1", "ip link set veth0 up",
          "ip link set veth1 up",
          // The lower device has a larger index than the device above.
          "ip link add vx0 index 20 address 02:00:00:00:00:20 mtu 1300 type vxlan id 42 remote 10.9.0.2 local 10.9.0.1 "
          "dev veth1 dstport 4789 ttl 9 tos 12 nolearning ageing 77 maxaddress 55 srcport 1000 2000 udpcsum proxy",
          "ip link add vx1 index 41 address 02:00:00:00:00:41 type vxlan id 43 dstport 4790 ttl inherit l2miss rsc",
          "ip link add vx2 index 42 address 02:00:00:00:00:42 type vxlan external dstport 4791 gpe",
          "ip link add vx3 index 43 address 02:00:00:00:00:43 type vxlan id 44 group 239.1.1.1 dev veth1 dstport 4792 "
          "gbp",
          "ip link set vx1 master br0", "ip link set vx0 up", "ip link set vx1 up", "ip link set br0 up",
          "ip addr add 10.42.0.1/24 dev vx0"})
        zdtm::output_of(command);
    const zdtm::Sights sights(
        {"ip -o -d link show type vxlan | sed -E 's, (state|addrgenmode) [A-Za-z0-9_]*,,g; s,[a-z_]*_timer "
         "+[0-9.]*,,g; "
         "s,numtxqueues.*,,'",
         "ip -o link show master br0 | sed -E 's,<[^>]*>,,'", "ip -o -4 addr", "ip -4 route show table all | sort",
         "bridge fdb show dev vx0 | sort"});
    me.wait_for_check();
    sights.check();
}
