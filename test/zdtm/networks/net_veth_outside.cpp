// SPDX-License-Identifier: GPL-2.0-only
// zdtm: network own
// zdtm: modes once,five,leave-running,terminated,killed,to-other,from-other,refused-restore,restore-terminated
// zdtm: refused-restore --external veth[eth0]:outer0@nobridge
// zdtm: refused-with no network device nobridge
// zdtm: restore-options --external veth[eth0]:outer0@outerbr
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a veth pair between criu's network namespace and the tree's, with its outer end in a bridge") {
    zdtm::output_of(
        "ip link add outerbr type bridge && ip addr add 10.5.0.1/24 dev outerbr && ip link set outerbr up && "
        "ip link add outer0 type veth peer name inner0 && ip link set outer0 master outerbr up");
    zdtm::enter_new_network();
    zdtm::output_outside("ip link set inner0 netns " + std::to_string(getpid()) + " name eth0");
    zdtm::output_of("ip link set eth0 mtu 1450 up && ip addr add 10.5.0.2/24 dev eth0");
    const zdtm::Sights sights(
        {"ip -o link show eth0 | sed -E 's,@[^:]*,,; s,NO-CARRIER.,,; s,.LOWER_UP,,; s,state [A-Z]*,,; "
         "s, link-netns[a-z]* [^ ]*,,'",
         "ip -o -4 addr", "ip route"});
    zdtm::check_way_out("10.5.0.1");
    me.wait_for_check();
    sights.check();
    zdtm::output_outside("ip -o link show outer0 | grep -q \"UP.*master outerbr\"");
    zdtm::check_way_out("10.5.0.1");
}
