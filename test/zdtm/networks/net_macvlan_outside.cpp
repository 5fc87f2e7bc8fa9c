// SPDX-License-Identifier: GPL-2.0-only
// zdtm: network own
// zdtm: restore-options --external macvlan[mac0]:parent
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a macvlan device of the tree on a device of criu's network namespace") {
    zdtm::output_of(
        "ip link add parent type bridge && ip link set parent up && "
        "ip link add inner address 02:00:00:00:00:51 link parent type macvlan mode bridge");
    zdtm::enter_new_network();
    zdtm::output_outside("ip link set inner netns " + std::to_string(getpid()) + " name mac0");
    zdtm::output_of("ip link set mac0 mtu 1400 up && ip addr add 10.7.0.2/24 dev mac0");
    const zdtm::Sights sights(
        {"ip -d -o link show mac0 | sed -E 's,@[^:]*,,; s,NO-CARRIER.,,; s,.LOWER_UP,,; s,state [A-Z]*,,; "
         "s, link-netns[a-z]* [^ ]*,,; s,M-DOWN.,,'",
         "ip -o -4 addr"});
    me.wait_for_check();
    sights.check();
    zdtm::output_of("ip -o link show mac0 | grep -q @");
}
