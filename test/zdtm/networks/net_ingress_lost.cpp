// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns veth0 has the queueing discipline clsact below its root.*loss: qdisc
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns of a queueing discipline at the ingress of a device") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add veth0 type veth peer name veth1");
    zdtm::output_of("tc qdisc add dev veth0 clsact");
    me.wait_for_check();
}
