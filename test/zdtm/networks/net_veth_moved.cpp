// SPDX-License-Identifier: GPL-2.0-only
// zdtm: network own
// zdtm: between ip link del spare1 2>/dev/null || true; ip link add spare0 type veth peer name spare1 && ip addr add 10.6.0.1/24 dev spare1 && ip link set spare1 up
// zdtm: restore-options --external netdev[eth0]:spare0
// zdtm: modes once,to-other,from-other,restore-killed
// zdtm: not-in lazy-killed
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("restore --external netdev moves a prepared device into the tree in place of a veth device") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add eth0 index 77 address 02:00:00:00:00:77 type veth peer name other");
    zdtm::output_outside("ip link set lo up");
    zdtm::output_of(
        "ip link set other netns /proc/1/ns/net && ip link set eth0 up && ip addr add 10.6.0.2/24 dev eth0");
    const zdtm::Sights sights(
        {"ip -o link show eth0 | sed -E 's,@[^:]*,,; s,NO-CARRIER.,,; s,.LOWER_UP,,; s,state [A-Z]*,,; "
         "s,M-DOWN.,,; s, link-netns[a-z]* [^ ]*,,; s,qdisc [a-z]*,,'",
         "ip -o -4 addr", "ip route | sed 's, linkdown,,'"});
    me.wait_for_check();
    sights.check();
    zdtm::check_way_out("10.6.0.1");
}
