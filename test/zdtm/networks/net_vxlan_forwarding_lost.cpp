// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns forwarding table of a device has 1 static entry for device vx0, which isn't kept.*loss: fdb
// zdtm: fails-with-4.2 it refuses vxlan devices
// zdtm: not-in all-killed, dump-killed
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns of an entry in the forwarding table of a vxlan device, and not of its default destination") {
    zdtm::enter_new_network();
    if (system("ip link add vx0 type vxlan id 5 remote 10.9.0.2 dstport 4789 2>/dev/null") != 0)
        zdtm::skip("no vxlan devices here");
    zdtm::output_of("bridge fdb add 02:00:00:00:00:99 dev vx0 self dst 10.9.0.7");
    me.wait_for_check();
}
