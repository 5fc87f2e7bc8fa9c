// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns Device vx0 filters by VNI; its list of VNIs isn't kept.*loss: fdb
// zdtm: fails-with-4.2 it refuses vxlan devices
// zdtm: not-in all-killed, dump-killed
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns of the list of VNIs of a vxlan device") {
    zdtm::enter_new_network();
    if (system(
            "ip link add vx0 type vxlan external vnifilter dstport 4789 2>/dev/null && bridge vni add vni 7 dev vx0") !=
        0)
        zdtm::skip("no vxlan devices with a list of VNIs here");
    me.wait_for_check();
}
