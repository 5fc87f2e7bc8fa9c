// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns forwarding table of a bridge has [24] static entries for port veth1, which aren't kept.*loss: fdb
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns of static entries in the forwarding table of a bridge, and not of its ports' own addresses") {
    // With VLAN filtering (CONFIG_BRIDGE_VLAN_FILTERING), the kernel adds each entry twice: for VLAN 1, and without
    // VLAN.
    zdtm::enter_new_network();
    for (const char* const command :
         {"ip link add veth0 type veth peer name veth1", "ip link add br0 type bridge", "ip link set veth1 master br0",
          "ip link set veth0 master br0", "bridge fdb add 02:00:00:00:00:71 dev veth1 master static",
          "bridge fdb add 02:00:00:00:00:72 dev veth1 master static"})
        zdtm::output_of(command);
    me.wait_for_check();
}
